#include "client/strategy/reduction.h"

#include "client/ops.h"

namespace weir {
namespace {

Output Divided(const Scope& scope, ReduceOp op, const Output& sum, int divisor) {
  if (op == ReduceOp::kSum || divisor == 1) return sum;
  if (IsFloating(sum.type())) return ops::Mul(scope, sum, 1.0 / divisor);
  return ops::Div(scope, sum, scope.Constant(int64_t{divisor}, sum.type()));
}

}  // namespace

Output ReduceValues(const Scope& scope, ReduceOp op, const OutputList& values, int divisor) {
  if (values.size() == 1) return Divided(scope, op, values[0], divisor);
  return Divided(scope, op, ops::AddN(scope, InputList(values.begin(), values.end())), divisor);
}

Gradient ReduceGradients(const Scope& scope, ReduceOp op, const std::vector<Gradient>& parts, int divisor) {
  OutputList values;
  InputList rows, indices;
  for (const Gradient& part : parts) {
    values.push_back(part.values);
    rows.emplace_back(part.values);
    if (part.is_sparse()) indices.emplace_back(part.indices);
  }
  if (indices.empty()) return ReduceValues(scope, op, values, divisor);
  if (parts.size() == 1) {
    return Gradient(Divided(scope, op, values[0], divisor), parts[0].indices, parts[0].dense_shape);
  }
  const Tensor axis = Tensor::Scalar<int32_t>(0);
  return Gradient(Divided(scope, op, ops::ConcatV2(scope, rows, axis), divisor), ops::ConcatV2(scope, indices, axis),
                  parts[0].dense_shape);
}

}  // namespace weir
