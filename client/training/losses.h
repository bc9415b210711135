// Classification losses with label smoothing (Szegedy et al. 2015), as Keras defines them.
#pragma once

#include "client/scope.h"
#include "core/api.h"
#include "graph/output.h"

namespace WEIR_API weir {

// one_hot * (1 - smoothing) + smoothing / classes; one_hot: [batch, classes].
Output SmoothLabels(const Scope& scope, const Output& one_hot, double smoothing);
// The mean over the batch of softmax cross-entropy with smoothed labels. logits: [batch, classes]; labels: [batch]
// int32 or int64.
Output SmoothedSoftmaxLoss(const Scope& scope, const Output& logits, const Output& labels, int64_t classes,
                           double smoothing);
// The mean of sigmoid cross-entropy with labels * (1 - smoothing) + smoothing / 2.
Output SmoothedSigmoidLoss(const Scope& scope, const Output& logits, const Output& labels, double smoothing);

}  // namespace weir
