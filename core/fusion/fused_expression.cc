#include "core/fusion/fused_expression.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace weir {
namespace {

constexpr char kChannelsFirst[] = "NCHW";
constexpr size_t kMaxStepLength = 256;
constexpr size_t kMaxAddends = 16;
constexpr size_t kMaxAxes = 254;  // the maximum rank of a tensor

absl::Status InvalidStep(absl::string_view text, absl::string_view why) {
  return errors::InvalidArgument("'", text.substr(0, kMaxStepLength), "' is not a step of a fused expression: ", why);
}

// A parsed "AddV2:x(0, 3)": op, detail (after the colon), operands.
struct StepText {
  absl::string_view op, detail;
  std::vector<int> operands;
};

absl::StatusOr<StepText> Split(absl::string_view text, int num_values) {
  if (text.size() > kMaxStepLength) return InvalidStep(text, "it is too long");
  StepText step;
  const size_t open = text.find('(');
  if (open == absl::string_view::npos || text.back() != ')')
    return InvalidStep(text, "it has no operands in parentheses");
  const std::pair<absl::string_view, absl::string_view> head =
      absl::StrSplit(text.substr(0, open), absl::MaxSplits(':', 1));
  step.op = head.first;
  step.detail = head.second;
  for (const absl::string_view operand : absl::StrSplit(text.substr(open + 1, text.size() - open - 2), ", ")) {
    int value = 0;
    if (!absl::SimpleAtoi(operand, &value) || value < 0 || value >= num_values) {
      return InvalidStep(text, absl::StrCat("its operands must be values before it, 0 to ", num_values - 1));
    }
    step.operands.push_back(value);
  }
  return step;
}

bool AllOf(const std::vector<int>& operands, const DataTypeVector& values, DataType type) {
  return std::all_of(operands.begin(), operands.end(), [&](int operand) { return values[operand] == type; });
}

// Sets kind and type of `step`, whose op and operands are set; `detail` is the text after the op's colon.
absl::Status Resolve(absl::string_view text, absl::string_view detail, const DataTypeVector& values, FusedStep* step) {
  const std::vector<int>& operands = step->operands;
  const DataType first = values[operands[0]];
  const auto takes = [&](size_t count) { return operands.size() == count; };
  step->type = first;
  if (step->op == "Cast") {
    step->kind = FusedStep::Kind::kCast;
    step->type = ParseDataType(detail).value_or(DT_INVALID);
    if (!takes(1) || !IsFusedType(step->type) || step->type == first)
      return InvalidStep(text, "expected a cast of one value to another type");
    return absl::OkStatus();
  }
  if (step->op == "BiasAdd") {
    step->kind = FusedStep::Kind::kBias;
    step->channels_first = detail == kChannelsFirst;
    if (!detail.empty() && !step->channels_first) return InvalidStep(text, "its layout must be NCHW or unset");
    if (takes(2) && IsFusedFloat(first) && AllOf(operands, values, first)) return absl::OkStatus();
    return InvalidStep(text, "it takes two values of one type of floats");
  }
  if (!detail.empty()) return InvalidStep(text, "it has no variants");
  if (step->op == "Select" || step->op == "SelectV2") {
    step->kind = FusedStep::Kind::kSelect;
    if (!takes(3) || first != DT_BOOL) return InvalidStep(text, "it takes a condition and two values");
    step->type = values[operands[1]];
    if (step->type == DT_INT32 || values[operands[2]] != step->type)
      return InvalidStep(text, "it selects from values of one type");
    return absl::OkStatus();
  }
  if (step->op == "AddN") {
    step->kind = FusedStep::Kind::kAddN;
    const bool is_number = IsFusedFloat(first) || first == DT_INT64;
    if (operands.size() < 2 || operands.size() > kMaxAddends || !is_number || !AllOf(operands, values, first)) {
      return InvalidStep(text, absl::StrCat("it takes 2 to ", kMaxAddends, " numbers of one type"));
    }
    return absl::OkStatus();
  }
  const ScalarOp* const op = FindScalarOp(step->op);
  if (op == nullptr) return InvalidStep(text, "there is no such op");
  if (!takes(op->operands)) return InvalidStep(text, absl::StrCat("it takes ", op->operands, " operands"));
  if (!op->Takes(first) || !AllOf(operands, values, first)) return InvalidStep(text, "it does not take these types");
  step->type = op->Gives(first);
  return absl::OkStatus();
}

absl::Status Invalid(absl::string_view why) { return errors::InvalidArgument("A fused expression ", why); }

absl::Status CheckUses(const FusedExpression& expression) {
  std::vector<int> uses(expression.num_values(), 0);
  for (const FusedStep& step : expression.steps) {
    for (const int operand : step.operands) ++uses[operand];
  }
  for (const FusedStep& step : expression.steps) {
    if (step.kind != FusedStep::Kind::kBias) continue;
    const int bias = step.operands[1];
    if (expression.step_of(bias) != nullptr || uses[bias] != 1) {
      return Invalid(absl::StrCat("has a bias that is not a separate input: ", step.ToString()));
    }
  }
  for (const int output : expression.outputs) ++uses[output];
  for (size_t i = 0; i < uses.size(); ++i) {
    if (uses[i] == 0) return Invalid(absl::StrCat("does not use its value ", i));
  }
  return absl::OkStatus();
}

absl::Status CheckOutputs(const FusedExpression& expression) {
  std::vector<int> outputs = expression.outputs;
  std::sort(outputs.begin(), outputs.end());
  if (outputs.empty() || outputs.size() > FusedExpression::kMostOutputs ||
      std::adjacent_find(outputs.begin(), outputs.end()) != outputs.end()) {
    return Invalid(absl::StrCat("must have 1 to ", FusedExpression::kMostOutputs, " outputs, each once"));
  }
  if (outputs.front() < static_cast<int>(expression.inputs.size()) || outputs.back() >= expression.num_values()) {
    return Invalid("must output results of its steps");
  }
  return absl::OkStatus();
}

absl::Status CheckFold(const FusedExpression& expression) {
  if (expression.fold.empty()) {
    return expression.axes.empty() && !expression.keep_dims
               ? absl::OkStatus()
               : Invalid("without a reduction must have no axes and no keep_dims");
  }
  if (!IsFusedFold(expression.fold))
    return Invalid(absl::StrCat("has no reduction '", expression.fold.substr(0, 64), "'"));
  if (expression.outputs.size() != 1) return Invalid("with a reduction must have one output");
  if (expression.axes.size() > kMaxAxes) return Invalid("has more axes than a tensor has dimensions");
  const DataType type = expression.type_of(expression.outputs[0]);
  if (FoldTakes(expression.fold, type)) return absl::OkStatus();
  return Invalid(absl::StrCat("has no ", expression.fold, " of ", DataTypeName(type)));
}

}  // namespace

std::string FusedStep::ToString() const {
  const std::string detail = kind == Kind::kCast ? absl::StrCat(":", DataTypeName(type))
                             : channels_first    ? absl::StrCat(":", kChannelsFirst)
                                                 : "";
  return absl::StrCat(op, detail, "(", absl::StrJoin(operands, ", "), ")");
}

DataType FusedExpression::type_of(int value) const {
  const FusedStep* const step = step_of(value);
  return step == nullptr ? inputs[value] : step->type;
}

const FusedStep* FusedExpression::step_of(int value) const {
  const int step = value - static_cast<int>(inputs.size());
  return step < 0 ? nullptr : &steps[step];
}

bool IsFusedFold(absl::string_view op) { return op == "Sum" || op == "Mean" || op == "Max" || op == "Min"; }

bool FoldTakes(absl::string_view op, DataType type) {
  return IsFusedFold(op) && (IsFusedFloat(type) || (type == DT_INT64 && op != "Mean"));
}

absl::StatusOr<FusedStep> ParseFusedStep(absl::string_view text, const DataTypeVector& values) {
  ASSIGN_OR_RETURN(StepText parts, Split(text, static_cast<int>(values.size())));
  FusedStep step{.op = std::string(parts.op), .operands = std::move(parts.operands)};
  RETURN_IF_ERROR(Resolve(text, parts.detail, values, &step));
  return step;
}

absl::Status CheckFusedExpression(const FusedExpression& expression) {
  if (expression.inputs.empty() || expression.inputs.size() > FusedExpression::kMostInputs) {
    return Invalid(
        absl::StrCat("must have 1 to ", FusedExpression::kMostInputs, " inputs, not ", expression.inputs.size()));
  }
  if (expression.steps.empty() || expression.steps.size() > FusedExpression::kMostSteps) {
    return Invalid(
        absl::StrCat("must have 1 to ", FusedExpression::kMostSteps, " steps, not ", expression.steps.size()));
  }
  if (!std::all_of(expression.inputs.begin(), expression.inputs.end(), IsFusedType)) {
    return Invalid("only supports float, double, half, bfloat16, int32, int64 and bool");
  }
  DataTypeVector values = expression.inputs;
  for (const FusedStep& step : expression.steps) {
    ASSIGN_OR_RETURN(const FusedStep again, ParseFusedStep(step.ToString(), values));
    if (again != step) return Invalid(absl::StrCat("has an inconsistent step: ", step.ToString()));
    values.push_back(step.type);
  }
  RETURN_IF_ERROR(CheckOutputs(expression));
  RETURN_IF_ERROR(CheckUses(expression));
  return CheckFold(expression);
}

}  // namespace weir
