// Training with 16-bit floats, whose gradients would vanish: the loss is scaled up before they are computed.
#pragma once

#include <cstdint>
#include <memory>

#include "client/optimizer.h"

namespace weir {

// The scale is multiplied after so many steps in a row whose gradients were all finite, and divided, down to 1 at most,
// after each step with one that was not.
struct DynamicLossScale {
  double initial_scale = 32768;
  int64_t growth_steps = 2000;
  double multiplier = 2;
};

// `inner`, with gradients of the loss times a scale, divided by it again in the variables' own type. What happens
// between ComputeGradients and ApplyGradients (sums over replicas, clipping) sees gradients of the loss itself.
//
// With a dynamic scale a step in which a gradient is not finite changes no variable, no slot and no global step, but
// makes the scale smaller. Replicas that have reduced their gradients agree on it, since all see the same ones. The
// state, "current_loss_scale" and "good_steps" as in TensorFlow, is saved with the other variables. Call
// ComputeGradients before ApplyGradients, and that once.
//
// Names and rules are those of tf.compat.v1.mixed_precision.MixedPrecisionLossScaleOptimizer.
std::unique_ptr<Optimizer> LossScaleOptimizer(std::unique_ptr<Optimizer> inner, const DynamicLossScale& scale = {});
// A scale that stays: steps are never skipped.
std::unique_ptr<Optimizer> LossScaleOptimizer(std::unique_ptr<Optimizer> inner, double fixed_scale);

}  // namespace weir
