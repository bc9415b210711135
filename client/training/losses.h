// Losses under their names in the field, as Keras defines them.
#pragma once

#include "client/ops/op_scope.h"
#include "core/api.h"
#include "graph/output.h"

namespace WEIR_API weir {

// How the losses of examples become the loss of a batch.
enum class LossReduction {
  kMean,  // over all examples, whatever their weights: Keras's sum_over_batch_size
  kSum,
  kNone,  // one loss for each example
};

// Fields that a loss does not mention have no effect on it.
struct LossOptions {
  // Factors of the examples' losses, with which they broadcast: [batch] for predictions [batch, …].
  Output weights = {};
  LossReduction reduction = LossReduction::kMean;
  bool from_logits = false;    // cross-entropies: predictions are logits, not probabilities
  double label_smoothing = 0;  // cross-entropies: moves labels towards the uniform distribution (Szegedy et al. 2015)
  double delta = 1;            // Huber: where it becomes linear
};

// predictions, labels: [batch, …, n], of one type. The loss of an example is the mean over the last dimension.
Output MeanSquaredError(const OpScope& scope, const Output& predictions, const Output& labels,
                        const LossOptions& options = {});
Output MeanAbsoluteError(const OpScope& scope, const Output& predictions, const Output& labels,
                         const LossOptions& options = {});
// d² / 2 up to `delta`, then delta · |d| - delta² / 2.
Output Huber(const OpScope& scope, const Output& predictions, const Output& labels, const LossOptions& options = {});
// Labels are probabilities. Smoothing: labels · (1 - smoothing) + smoothing / 2.
Output BinaryCrossentropy(const OpScope& scope, const Output& predictions, const Output& labels,
                          const LossOptions& options = {});
// max(1 - label · prediction, 0). Labels are -1 and 1; if all are 0 and 1, 0 counts as -1.
Output Hinge(const OpScope& scope, const Output& predictions, const Output& labels, const LossOptions& options = {});

// predictions: [batch, …, classes]. The loss of an example is a sum over the last dimension.

// labels: a distribution, such as one-hot rows. Smoothing: labels · (1 - smoothing) + smoothing / classes.
Output CategoricalCrossentropy(const OpScope& scope, const Output& predictions, const Output& labels,
                               const LossOptions& options = {});
// labels: [batch, …], classes as int32 or int64.
Output SparseCategoricalCrossentropy(const OpScope& scope, const Output& predictions, const Output& labels,
                                     const LossOptions& options = {});
// Σ label · log(label / prediction).
Output KLDivergence(const OpScope& scope, const Output& predictions, const Output& labels,
                    const LossOptions& options = {});
// Minus the cosine of the angle: -1 for equal directions.
Output CosineSimilarity(const OpScope& scope, const Output& predictions, const Output& labels,
                        const LossOptions& options = {});

// one_hot * (1 - smoothing) + smoothing / classes; one_hot: [batch, classes].
Output SmoothLabels(const OpScope& scope, const Output& one_hot, double smoothing);
// The mean over the batch of softmax cross-entropy with smoothed labels. logits: [batch, classes]; labels: [batch]
// int32 or int64.
Output SmoothedSoftmaxLoss(const OpScope& scope, const Output& logits, const Output& labels, int64_t classes,
                           double smoothing);
// The mean of sigmoid cross-entropy with labels * (1 - smoothing) + smoothing / 2.
Output SmoothedSigmoidLoss(const OpScope& scope, const Output& logits, const Output& labels, double smoothing);

}  // namespace weir
