// The source text of a fused kernel.
#pragma once

#include <string>

#include "core/fusion/fused_expression.h"
#include "kernels/fusion/fused_layout.h"

namespace weir {

inline constexpr char kFusedKernelName[] = "weir_fused";
// Of a block. A reduction is made in the order of the kernels that reduce alone, which have as many.
inline constexpr int kFusedThreads = 256;

// CUDA C++ without headers, for NVRTC: a kernel of kFusedKernelName that takes FusedArgs, and runs in blocks of
// kFusedThreads, any number of them. The same expression and pattern give the same text. It gives the bits of the
// kernels that it stands for when both are compiled without contraction to fused multiply-adds (--fmad=false): each
// step is rounded to its type. NaN may come with another payload.
std::string SourceOfFused(const FusedExpression& expression, const FusedPattern& pattern);

}  // namespace weir
