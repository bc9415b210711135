// Arguments of fused kernels that host code and device code share.
#pragma once

#include <iterator>

#include "core/fusion/fused_expression.h"
#include "core/gpu/gpu_runtime.h"

namespace weir {

#define WEIR_SHARED_CODE(...) __VA_ARGS__
#include "kernels/fusion/fused_args.inc"
#undef WEIR_SHARED_CODE

inline constexpr int kMaxFusedRank = std::extent_v<decltype(FusedArgs::sizes)>;
static_assert(std::extent_v<decltype(FusedArgs::inputs)> == FusedExpression::kMostInputs &&
              std::extent_v<decltype(FusedArgs::outputs)> == FusedExpression::kMostOutputs &&
              std::extent_v<decltype(FusedArgs::steps)> ==
                  FusedExpression::kMostInputs + FusedExpression::kMostOutputs &&
              sizeof(FusedArgs) <= kMaxGpuKernelArgs);

}  // namespace weir
