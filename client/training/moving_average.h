// Averages that follow what they are of.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/saveable.h"
#include "client/scope.h"
#include "client/variables.h"

namespace weir {

struct MovingAverageOptions {
  double decay = 0.999;
  // A scalar: the decay is at most (1 + num_updates) / (10 + num_updates), so that the first averages move faster.
  std::optional<Output> num_updates;
  bool zero_debias = false;  // of outputs: divides by how much of the average is not yet its beginning, zero
  std::string name = "ExponentialMovingAverage";
};

// tf.train.ExponentialMovingAverage: average -= (1 - decay) * (average - value). Averages are variables beside those
// they follow, named "<variable>/<name>", and are saved with them.
class ExponentialMovingAverage {
 public:
  explicit ExponentialMovingAverage(MovingAverageOptions options) : options_(std::move(options)) {}

  // Adds an average for each variable (empty: all trainable ones), which begins as the variable does. The operation
  // moves them; run it after the step that changed the variables.
  Operation Apply(const Scope& scope, std::vector<ResourceVariable> variables = {});
  // An average of a scalar output (a loss, say), which begins as zero. Each call adds another.
  struct OutputAverage {
    Output value;  // run it in a step after `update`, or see what was before
    ResourceVariable average;
    Operation update;
  };
  OutputAverage Apply(const Scope& scope, const Output& value, const std::string& name) const;

  // The variable that follows `variable`; invalid where none does.
  ResourceVariable Average(const ResourceVariable& variable) const;
  // Entries that restore the variables from their averages: for a Saver of a graph that evaluates.
  std::vector<Saveable> VariablesFromAverages() const;

 private:
  Output Weight(const Scope& scope, DataType dtype) const;  // 1 - decay

  const MovingAverageOptions options_;
  struct Followed {
    ResourceVariable variable, average;
  };
  std::vector<Followed> followed_;
};

}  // namespace weir
