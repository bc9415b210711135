// Learning rate schedules, with Keras' formulas and names.
#pragma once

#include <functional>
#include <vector>

#include "client/scope.h"
#include "client/variables.h"
#include "core/api.h"
#include "graph/output.h"

namespace weir {
namespace WEIR_API schedules {

// The rate, a float scalar, at a step, a scalar of any numeric type.
using Schedule = std::function<Output(const Scope& scope, const Output& step)>;

// initial * rate ^ (step / decay_steps); with `staircase` the quotient is rounded down.
Schedule ExponentialDecay(double initial, double decay_steps, double decay_rate, bool staircase = false);
// From `initial` to `end` in decay_steps, along (1 - step / decay_steps) ^ power; with `cycle` the end moves to the
// next multiple of decay_steps.
Schedule PolynomialDecay(double initial, double decay_steps, double end = 0.0001, double power = 1, bool cycle = false);
// values[0] up to and including step boundaries[0], then values[1] …; one value more than boundaries.
Schedule PiecewiseConstant(std::vector<int64_t> boundaries, std::vector<double> values);
// initial / (1 + rate * step / decay_steps)
Schedule InverseTimeDecay(double initial, double decay_steps, double decay_rate, bool staircase = false);
// Half a cosine from `initial` to alpha * initial (Loshchilov and Hutter 2016).
Schedule CosineDecay(double initial, double decay_steps, double alpha = 0);
// Repeats: each period is t_mul times as long, and starts m_mul times as high, as the previous one.
Schedule CosineDecayRestarts(double initial, double first_decay_steps, double t_mul = 2, double m_mul = 1,
                             double alpha = 0);
// Linear from `start` to `target` over `warmup_steps`; then `after`, which counts from there.
Schedule LinearWarmup(double start, double target, double warmup_steps, Schedule after);

// The rate for the step after `global_step`, for an optimizer.
Output LearningRate(const Scope& scope, const Schedule& schedule, const ResourceVariable& global_step);

}  // namespace schedules
}  // namespace weir
