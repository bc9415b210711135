// Nodes that compute with 16-bit floats where the graph says float.
#pragma once

#include <memory>

#include "core/kernel_registry.h"
#include "graph/passes/mixed_precision_lists.h"
#include "graph/passes/pass.h"

namespace weir {

struct MixedPrecisionOptions {
  MixedPrecisionMode mode;
  MixedPrecisionSettings settings;
  // A node without a kernel for the new type stays as it is. Outlives the pass.
  const KernelRegistry* kernels = nullptr;
};

// TensorFlow's auto_mixed_precision, for a graph that is placed. Nodes on devices of the mode's kind get new types
// (which ones: graph/passes/mixed_precision_painter.h), and Casts stand where types differ, one for each tensor and
// type. What is fetched, fed or run by name keeps its types; variables, and whatever else has state, too, so that
// updates are made in float; bodies of functions that stay calls are not looked at.
std::unique_ptr<Pass> MakeMixedPrecisionPass(MixedPrecisionOptions options);

}  // namespace weir
