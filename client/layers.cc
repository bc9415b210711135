#include "client/layers.h"

#include "client/ops.h"

namespace weir {
namespace layers {

Output SparseSoftmaxLoss(const OpScope& at, const Output& logits, const Output& labels) {
  const Scope scope = at.Located();
  return ops::Mean(scope, ops::SparseSoftmaxCrossEntropyWithLogits(scope, logits, labels).loss,
                   Tensor::Vector<int32_t>({0}));
}

Output Accuracy(const OpScope& at, const Output& logits, const Output& labels) {
  const Scope scope = at.Located();
  const Output predicted = ops::ArgMax(scope, logits, Tensor::Scalar<int32_t>(1), {.output_type = labels.type()});
  return ops::Mean(scope, ops::Cast(scope, ops::Equal(scope, predicted, labels), DT_FLOAT),
                   Tensor::Vector<int32_t>({0}));
}

}  // namespace layers
}  // namespace weir
