// Attention as cuDNN's graph.
#pragma once

#include "kernels/attention/gpu/attention_problem.h"
#include "kernels/device/cudnn/cudnn_target.h"

namespace weir {

// The names of the graph's tensors in the arguments of a call. The scale is passed by value.
inline constexpr int64_t kCudnnQueries = 'q', kCudnnKeys = 'k', kCudnnValues = 'v', kCudnnMask = 'm', kCudnnMixed = 'o',
                         kCudnnStatistics = 's', kCudnnScale = 'c';
// Of a gradient. `one` is 1, passed by value; a float for each row, and for each element of dq, are the call's own.
inline constexpr int64_t kCudnnGradient = 'g', kCudnnQueriesGradient = 'Q', kCudnnKeysGradient = 'K',
                         kCudnnValuesGradient = 'V', kCudnnOne = '1', kCudnnDots = 'd', kCudnnQueriesSum = 'a';

// Finalised. Scores and their softmax are computed in float, weights are rounded to the problem's type.
absl::StatusOr<CudnnDescriptor> CudnnAttentionGraphOf(const CudnnTarget& target, const AttentionProblem& problem);

}  // namespace weir
