#include "client/layers/sequences.h"

#include "client/layers/rows.h"
#include "client/ops.h"

namespace weir {
namespace layers {

Output SwapSteps(const Scope& scope, const Output& sequence) {
  return ops::Transpose(scope, sequence, Tensor::Vector<int32_t>({1, 0, 2}));
}

Output ZerosFor(const Scope& scope, const Output& batch, int64_t units, DataType dtype) {
  const Output shape = ops::Pack(scope, {batch, Tensor::Scalar<int32_t>(static_cast<int32_t>(units))});
  return ops::Fill(scope, shape, scope.Constant(0.0, dtype));
}

Output ZeroAfter(const Scope& scope, const Output& sequence, const Output& lengths) {
  const Output steps =
      ops::Range(scope, Tensor::Scalar<int32_t>(0), Dim(scope, sequence, 0), Tensor::Scalar<int32_t>(1));
  const Output inside = ops::Less(scope, ops::ExpandDims(scope, steps, Tensor::Scalar<int32_t>(1)),
                                  ops::ExpandDims(scope, lengths, Tensor::Scalar<int32_t>(0)));  // [steps, batch]
  return ops::SelectV2(scope, ops::ExpandDims(scope, inside, Tensor::Scalar<int32_t>(2)), sequence,
                       scope.Constant(0.0, sequence.type()));
}

Output StepOf(const Scope& scope, const Output& sequence, const Output& lengths, const Output& none) {
  const Tensor zero = Tensor::Scalar<int32_t>(0), one = Tensor::Scalar<int32_t>(1);
  const Output steps = ops::Maximum(scope, ops::Sub(scope, lengths, one), zero);
  const Output examples = ops::Range(scope, zero, Dim(scope, sequence, 1), one);
  const Output rows = ops::GatherNd(scope, sequence, ops::Pack(scope, {steps, examples}, {.axis = 1}));
  const Output is_some = ops::ExpandDims(scope, ops::Greater(scope, lengths, zero), one);
  return ops::SelectV2(scope, is_some, rows, none);
}

}  // namespace layers
}  // namespace weir
