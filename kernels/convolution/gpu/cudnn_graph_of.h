// A convolution as cuDNN's graph of one operation.
#pragma once

#include "kernels/convolution/gpu/convolution_problem.h"
#include "kernels/device/cudnn/cudnn_target.h"

namespace weir {

// The names of the graph's tensors in the arguments of a call.
inline constexpr int64_t kCudnnIn = 'x', kCudnnFilter = 'w', kCudnnOut = 'y';

// Finalised. Computed in float.
absl::StatusOr<CudnnDescriptor> CudnnGraphOf(const CudnnTarget& target, const ConvolutionProblem& problem);

}  // namespace weir
