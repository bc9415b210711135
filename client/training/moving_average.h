// Exponential moving averages of variables and outputs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/saveable.h"
#include "client/scope.h"
#include "client/variables.h"
#include "core/api.h"

namespace WEIR_API weir {

struct MovingAverageOptions {
  double decay = 0.999;
  // A scalar: limits the decay to (1 + num_updates) / (10 + num_updates), so that averages change faster at the start.
  std::optional<Output> num_updates;
  bool zero_debias = false;  // for outputs: corrects for the initial value of zero
  std::string name = "ExponentialMovingAverage";
};

// tf.train.ExponentialMovingAverage: average -= (1 - decay) * (average - value). Averages are variables on the same
// device, named "<variable>/<name>", and are saved with them.
class ExponentialMovingAverage {
 public:
  explicit ExponentialMovingAverage(MovingAverageOptions options) : options_(std::move(options)) {}

  // Adds an average for each variable (empty: all trainable ones), with the same initial value. The operation updates
  // them; run it after the step that changed the variables.
  Operation Apply(const Scope& scope, std::vector<ResourceVariable> variables = {});
  // An average of a scalar output (a loss, say) that starts at zero. Each call adds another.
  struct OutputAverage {
    Output value;  // run it in a step after `update`; otherwise it may return the previous value
    ResourceVariable average;
    Operation update;
  };
  OutputAverage Apply(const Scope& scope, const Output& value, const std::string& name) const;

  // The average of `variable`; invalid if there is none.
  ResourceVariable Average(const ResourceVariable& variable) const;
  // Entries that restore the variables from their averages: for a Saver of an evaluation graph.
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
