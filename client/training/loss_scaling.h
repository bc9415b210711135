// Loss scaling for training with 16-bit floats, whose gradients would underflow.
#pragma once

#include <cstdint>
#include <memory>

#include "client/optimizer.h"
#include "core/api.h"

namespace WEIR_API weir {

// The scale is multiplied after `growth_steps` consecutive steps with finite gradients, and divided, to no less than 1,
// after each other step.
struct DynamicLossScale {
  double initial_scale = 32768;
  int64_t growth_steps = 2000;
  double multiplier = 2;
};

// Wraps `inner`: computes gradients of the loss times a scale, and divides them by it in the variables' own type. Code
// between ComputeGradients and ApplyGradients (sums over replicas, clipping) sees gradients of the loss itself.
//
// With a dynamic scale, a step with a gradient that is not finite changes no variable, slot or global step, but
// decreases the scale. Replicas with reduced gradients agree on it, because all see the same ones. The state,
// "current_loss_scale" and "good_steps" as in TensorFlow, is saved with the other variables. Call ComputeGradients
// before ApplyGradients, and ApplyGradients once.
//
// Names and rules are those of tf.compat.v1.mixed_precision.MixedPrecisionLossScaleOptimizer.
std::unique_ptr<Optimizer> LossScaleOptimizer(std::unique_ptr<Optimizer> inner, const DynamicLossScale& scale = {});
// A constant scale: steps are never skipped.
std::unique_ptr<Optimizer> LossScaleOptimizer(std::unique_ptr<Optimizer> inner, double fixed_scale);

}  // namespace weir
