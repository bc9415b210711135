// Metrics over many batches, as Keras computes them: state in variables, ops that update, read and reset it.
#pragma once

#include <vector>

#include "client/ops/op_scope.h"
#include "client/variables.h"
#include "core/api.h"
#include "graph/output.h"

namespace weir {
namespace WEIR_API metrics {

// State that is not trained. Each replica of a strategy adds to its own; reading it outside of replicas gives the sum.
//
//   metrics::Accuracy accuracy(scope);
//   const Operation update = accuracy.Update(scope, logits, labels);   // run it for each batch
//   const Output value = accuracy.Value(scope);                        // then fetch it
//   const Operation reset = accuracy.Reset(scope);                     // run it before another pass
//
// Variables are named below the scope's op name, or the metric's: "accuracy/total". Value includes the batch of its own
// step only if its scope has Update among its control dependencies.
class Metric {
 public:
  virtual ~Metric() = default;
  virtual Output Value(const OpScope& scope) const = 0;
  // Sets all state to 0.
  Operation Reset(const OpScope& scope) const;
  const std::vector<ResourceVariable>& variables() const { return variables_; }

 protected:
  struct StateSpec {
    const char* name;
    TensorShape shape = TensorShape();
  };
  Metric(const OpScope& scope, absl::string_view default_name, const std::vector<StateSpec>& states);
  // variables()[i] += addition
  Operation Add(const Scope& scope, const std::vector<Output>& additions) const;
  Output Read(const Scope& scope, int i) const { return variables_[i].Read(scope); }

 private:
  std::vector<ResourceVariable> variables_;
};

// The mean of values, of any shape; `weights`, if valid, broadcast to it.
class Mean : public Metric {
 public:
  explicit Mean(const OpScope& scope) : Mean(scope, "mean") {}
  Operation Update(const OpScope& scope, const Output& values, const Output& weights = {}) const;
  Output Value(const OpScope& scope) const override;

 protected:
  Mean(const OpScope& scope, absl::string_view default_name) : Metric(scope, default_name, {{"total"}, {"count"}}) {}
};

// The fraction of examples whose largest score is the label's. predictions: [batch, classes]; labels: [batch] int32 or
// int64.
class Accuracy : public Mean {
 public:
  explicit Accuracy(const OpScope& scope) : Mean(scope, "accuracy") {}
  Operation Update(const OpScope& scope, const Output& predictions, const Output& labels,
                   const Output& weights = {}) const;
};

// The fraction of examples whose label is among the k largest scores.
class TopKAccuracy : public Mean {
 public:
  explicit TopKAccuracy(const OpScope& scope, int64_t k = 5) : Mean(scope, "top_k_accuracy"), k_(k) {}
  Operation Update(const OpScope& scope, const Output& predictions, const Output& labels,
                   const Output& weights = {}) const;

 private:
  const int64_t k_;
};

class MeanSquaredError : public Mean {
 public:
  explicit MeanSquaredError(const OpScope& scope) : Mean(scope, "mean_squared_error") {}
  Operation Update(const OpScope& scope, const Output& predictions, const Output& labels,
                   const Output& weights = {}) const;
};

// Of the examples predicted to be positive (probability > threshold), the fraction that are. labels: 0 and 1, of any
// type and the predictions' shape.
class Precision : public Metric {
 public:
  explicit Precision(const OpScope& scope, double threshold = 0.5);
  Operation Update(const OpScope& scope, const Output& predictions, const Output& labels,
                   const Output& weights = {}) const;
  Output Value(const OpScope& scope) const override;

 private:
  const double threshold_;
};

// Of the positive examples, the fraction predicted to be positive.
class Recall : public Metric {
 public:
  explicit Recall(const OpScope& scope, double threshold = 0.5);
  Operation Update(const OpScope& scope, const Output& predictions, const Output& labels,
                   const Output& weights = {}) const;
  Output Value(const OpScope& scope) const override;

 private:
  const double threshold_;
};

// The area under the ROC curve, by `thresholds` (at least 2) that are evenly spaced, and trapezoids between them.
class Auc : public Metric {
 public:
  explicit Auc(const OpScope& scope, int64_t thresholds = 200);
  Operation Update(const OpScope& scope, const Output& predictions, const Output& labels,
                   const Output& weights = {}) const;
  Output Value(const OpScope& scope) const override;

 private:
  Tensor Thresholds() const;
  const int64_t thresholds_;
};

}  // namespace metrics
}  // namespace weir
