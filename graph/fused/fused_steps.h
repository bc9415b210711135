// What fused ops do after their product, by the names in their attribute `fused_ops`.
#pragma once

#include "graph/fused/expansion.h"

namespace weir {

// The result of the steps that `fused_ops` names, applied to `x`; inputs from `first_arg` on are their arguments.
Output ApplyFusedSteps(FusedExpansion& expansion, Output x, int first_arg);
// One step without arguments, such as "Relu".
Output ApplyActivation(FusedExpansion& expansion, const std::string& name, const Output& x);
// x, normalised over `axes`, times `scale` plus `offset`; the attribute `epsilon` is added to the variance. Computed in
// float for types of 16 bits.
Output Normalize(FusedExpansion& expansion, const Output& x, const std::vector<int32_t>& axes, const Output& scale,
                 const Output& offset);

}  // namespace weir
