// Libraries that convolve on GPUs, as kernels see them.
#pragma once

#include "kernels/convolution/gpu/convolution_problem.h"
#include "kernels/device/plans/library_planner.h"

namespace weir {

// The arguments of a call; what the direction makes is written, the others are read.
struct ConvolutionBuffers {
  void* in = nullptr;
  void* filter = nullptr;
  void* out = nullptr;
};

using ConvolutionPlan = LibraryPlan<ConvolutionProblem, ConvolutionBuffers>;
using ConvolutionLibrary = GpuLibrary<ConvolutionProblem, ConvolutionBuffers>;
using ConvolutionPlanner = LibraryPlanner<ConvolutionProblem, ConvolutionBuffers>;

}  // namespace weir
