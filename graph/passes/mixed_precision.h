// Mixed precision: computes with 16-bit floats in place of float.
#pragma once

#include <memory>

#include "core/kernel/kernel_registry.h"
#include "graph/passes/mixed_precision_lists.h"
#include "graph/passes/pass.h"

namespace weir {

struct MixedPrecisionOptions {
  MixedPrecisionMode mode;
  MixedPrecisionSettings settings;
  // A node without a kernel for the new type is left unchanged. Outlives the pass.
  const KernelRegistry* kernels = nullptr;
};

// TensorFlow's auto_mixed_precision, for a placed graph. Nodes on the mode's devices get new types (see
// graph/passes/mixed_precision_painter.h), with one Cast per tensor and type where types differ. Fetched, fed and
// targeted nodes keep their types, and so do variables and other state, so that updates are computed in float. Bodies
// of functions that are not inlined are not converted.
std::unique_ptr<Pass> MakeMixedPrecisionPass(MixedPrecisionOptions options);

}  // namespace weir
