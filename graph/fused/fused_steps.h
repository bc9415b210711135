// The post-processing steps of fused ops, named by their attribute `fused_ops`.
#pragma once

#include "graph/fused/expansion.h"

namespace weir {

// Applies the steps in `fused_ops` to `x`; inputs from `first_arg` on are their arguments.
Output ApplyFusedSteps(FusedExpansion& expansion, Output x, int first_arg);
// Applies one step without arguments, such as "Relu".
Output ApplyActivation(FusedExpansion& expansion, const std::string& name, const Output& x);
// x, normalised over `axes`, times `scale` plus `offset`; the attribute `epsilon` is added to the variance. 16-bit
// types are computed in float.
Output Normalize(FusedExpansion& expansion, const Output& x, const std::vector<int32_t>& axes, const Output& scale,
                 const Output& offset);

}  // namespace weir
