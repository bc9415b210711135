// Layers: variables and the ops that use them, named by the scope. Programs include this header.
#pragma once

#include "client/layers/activation.h"
#include "client/layers/attention.h"
#include "client/layers/convolution.h"
#include "client/layers/dense.h"
#include "client/layers/embedding.h"
#include "client/layers/layer.h"
#include "client/layers/normalization.h"
#include "client/layers/recurrent.h"
#include "client/layers/regularization.h"
#include "client/ops/op_scope.h"
#include "core/api.h"
#include "graph/output.h"

namespace weir {
namespace WEIR_API layers {

// The mean over the batch of softmax cross-entropy. logits: [batch, classes]; labels: [batch] int32 or int64.
Output SparseSoftmaxLoss(const OpScope& scope, const Output& logits, const Output& labels);
// The fraction of rows whose largest logit is the label's.
Output Accuracy(const OpScope& scope, const Output& logits, const Output& labels);

}  // namespace layers
}  // namespace weir
