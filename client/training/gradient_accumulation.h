// Gradient accumulation: one update for the gradients of several steps, to simulate larger batches.
#pragma once

#include <vector>

#include "client/optimizer.h"
#include "client/scope.h"
#include "core/api.h"

namespace WEIR_API weir {

// Like gradient_accumulation_steps of Keras' optimizers: adds the gradients of each step to accumulators beside the
// variables; in every `steps`th step the optimizer applies their mean, and they are reset. The accumulators are saved
// with the variables. Sparse gradients are added to their rows and applied as dense ones. `global_step` advances in
// each step. Can be used once per optimizer.
Operation AccumulateGradients(const Scope& scope, Optimizer& optimizer,
                              const std::vector<GradientAndVariable>& gradients, int64_t steps,
                              const ResourceVariable& global_step = {});

}  // namespace weir
