// Gradients through values that hold tensors: arrays, lists, maps, composites; and through calls of functions.
#pragma once

#include "core/status.h"

namespace weir {

class GradientContext;
class GradientRegistry;

absl::Status RegisterTensorArrayGradients(GradientRegistry& registry);
absl::Status RegisterTensorListGradients(GradientRegistry& registry);
absl::Status RegisterTensorMapGradients(GradientRegistry& registry);
absl::Status RegisterCallGradients(GradientRegistry& registry);

// The gradient of an op that is the name of a function of the graph.
absl::Status FunctionCallGradient(GradientContext& g);

}  // namespace weir
