// Convolutions of kernels by a device's library.
#pragma once

#include <memory>

#include "core/gpu/gpu_device.h"
#include "core/op_kernel.h"
#include "kernels/convolution/args.h"
#include "kernels/convolution/gpu/convolution_library.h"

namespace weir {

// The one of a device, which all its convolutions share. A device without a library has a planner that plans nothing;
// the log says why there is none.
absl::StatusOr<std::shared_ptr<ConvolutionPlanner>> ConvolutionPlannerOf(GpuDevice& gpu);

// cuDNN for a device of CUDA's. UNAVAILABLE, with the reason, for others, where it cannot be loaded, and in a build
// without CUDA or cuDNN's headers.
absl::StatusOr<std::shared_ptr<ConvolutionLibrary>> CudaConvolutions(GpuRuntime& gpu, const GpuMathSettings& settings);

// Images in the layout of `shape`, and a filter [rows, columns, in channels of a group, out channels]: that one which
// the direction makes is written, the others are read. None is empty.
struct ConvolutionTensors {
  const Tensor& in;
  const Tensor& filter;
  const Tensor& out;
};

// Enqueues it. False: the library cannot do it, and nothing was enqueued that matters.
absl::StatusOr<bool> ConvolveByLibrary(OpKernelContext& ctx, GpuStream& stream, ConvolutionPlanner& planner,
                                       const ConvolutionShape& shape, ConvolutionDirection direction,
                                       const ConvolutionTensors& tensors);

}  // namespace weir
