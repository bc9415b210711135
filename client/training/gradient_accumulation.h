// Larger batches than fit: updates that wait for the gradients of several steps.
#pragma once

#include <vector>

#include "client/optimizer.h"
#include "client/scope.h"

namespace weir {

// As gradient_accumulation_steps of Keras' optimizers: adds the gradients of each step to accumulators beside the
// variables; with every `steps`th step the optimizer applies their mean, and they begin anew. The accumulators are
// saved with the variables. Sparse gradients are added to their rows, and applied as dense ones. `global_step` advances
// with each step. One optimizer can be used so once.
Operation AccumulateGradients(const Scope& scope, Optimizer& optimizer,
                              const std::vector<GradientAndVariable>& gradients, int64_t steps,
                              const ResourceVariable& global_step = {});

}  // namespace weir
