// The interface of GPU libraries that compute convolutions: cuDNN, and a simulated one for tests.
#pragma once

#include "kernels/convolution/gpu/convolution_problem.h"
#include "kernels/device/plans/library_planner.h"

namespace weir {

// The arguments of a call. The direction's result is written, the others are read.
struct GpuConvolutionBuffers {
  void* in = nullptr;
  void* filter = nullptr;
  void* out = nullptr;
};

using ConvolutionPlan = LibraryPlan<ConvolutionProblem, GpuConvolutionBuffers>;
using ConvolutionLibrary = GpuLibrary<ConvolutionProblem, GpuConvolutionBuffers>;
using ConvolutionPlanner = LibraryPlanner<ConvolutionProblem, GpuConvolutionBuffers>;

}  // namespace weir
