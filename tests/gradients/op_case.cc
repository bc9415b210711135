#include "tests/gradients/op_case.h"

#include "absl/algorithm/container.h"
#include "tests/gradients/graph_function.h"

namespace weir {
namespace {

void CheckCase(const OpCase& op_case) {
  const Scope scope = Scope::NewRoot();
  if (scope.graph()->ops().Find(op_case.op) == nullptr) return;  // an op that this build does not have
  std::vector<Output> xs, ys;
  std::vector<Tensor> values;
  std::vector<InputList> inputs;
  for (const OpArgument& argument : op_case.arguments) {
    InputList list;
    for (const OpArgument::Value& value : argument.values) {
      if (!value.differentiable) {
        list.push_back(value.constant);
        continue;
      }
      const int index = static_cast<int>(xs.size());
      xs.push_back(Argument(scope, index, op_case.type));
      values.push_back(RandomTensor(op_case.type, value.shape, value.low, value.high, index + 1));
      list.push_back(xs.back());
    }
    inputs.push_back(std::move(list));
  }
  tensorflow::NodeDef def = op_case.attrs.node();
  def.set_op(op_case.op);
  const Operation op = scope.AddOp(std::move(def), inputs);
  ASSERT_THAT(scope.status(), IsOk());
  for (int i = 0; i < op.node()->num_outputs(); ++i) {
    const DataType type = op.node()->output_type(i);
    const bool chosen = op_case.outputs.empty() || absl::c_linear_search(op_case.outputs, i);
    if (chosen && (IsFloating(type) || IsComplex(type))) ys.push_back(Output(op, i));
  }
  const NumericOptions options = op_case.type == DT_FLOAT ? kSinglePrecision : NumericOptions();
  std::vector<Output> gradients = CheckGradients(scope, xs, values, ys, options);
  if (!op_case.second_order || ::testing::Test::HasFailure()) return;
  SCOPED_TRACE("second order");
  std::vector<Output> valid;
  for (const Output& gradient : gradients) {
    if (gradient.valid()) valid.push_back(gradient);
  }
  if (!valid.empty()) CheckGradients(scope, xs, values, valid, options);
}

}  // namespace

OpArgument X(const TensorShape& shape, double low, double high) {
  OpArgument argument;
  argument.values.push_back({.shape = shape, .low = low, .high = high, .differentiable = true});
  return argument;
}

OpArgument C(const Tensor& value) {
  OpArgument argument;
  argument.values.push_back({.constant = value});
  return argument;
}

OpArgument List(const std::vector<OpArgument>& parts) {
  OpArgument argument;
  for (const OpArgument& part : parts) {
    argument.values.insert(argument.values.end(), part.values.begin(), part.values.end());
  }
  return argument;
}

OpArgument IntRows(std::vector<int32_t> values, int64_t rows) {
  const int64_t columns = static_cast<int64_t>(values.size()) / rows;
  return C(AsTensor<int32_t>(std::move(values), TensorShape({rows, columns})));
}

OpArgument LongRows(std::vector<int64_t> values, int64_t columns) {
  const int64_t rows = static_cast<int64_t>(values.size()) / columns;
  return C(AsTensor<int64_t>(std::move(values), TensorShape({rows, columns})));
}

Attrs WindowAttrs(const Ints64& strides, const std::string& padding, const std::string& format) {
  return Attrs().Set("strides", strides).Set("padding", padding).Set("data_format", format);
}

std::vector<OpCase> Joined(const std::vector<std::vector<OpCase>>& tables) {
  std::vector<OpCase> all;
  for (const std::vector<OpCase>& table : tables) all.insert(all.end(), table.begin(), table.end());
  return all;
}

void CheckCases(const std::vector<OpCase>& cases) {
  int number = 0;
  for (const OpCase& op_case : cases) {
    SCOPED_TRACE(absl::StrCat(op_case.op, ", line ", number++, " of the table"));
    CheckCase(op_case);
  }
}

}  // namespace weir
