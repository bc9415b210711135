// Runs a kernel's convolution by the device's library.
#pragma once

#include <memory>

#include "core/gpu/gpu_device.h"
#include "core/kernel/op_kernel.h"
#include "kernels/convolution/args.h"
#include "kernels/convolution/gpu/convolution_library.h"

namespace weir {

// The planner of a device, shared by all its convolutions. Without a library the planner finds no plan, and the
// log says why.
absl::StatusOr<std::shared_ptr<ConvolutionPlanner>> ConvolutionPlannerOf(GpuDevice& gpu);

// cuDNN for a CUDA device. UNAVAILABLE, with the reason, for other devices, if cuDNN cannot be loaded, and in a build
// without CUDA or cuDNN's headers.
absl::StatusOr<std::shared_ptr<ConvolutionLibrary>> CudaConvolutions(GpuRuntime& gpu, const GpuMathSettings& settings);

// Images in the layout of `shape`, and a filter [rows, columns, in channels of a group, out channels]. The direction's
// result is written, the others are read. None is empty.
struct ConvolutionTensors {
  const Tensor& in;
  const Tensor& filter;
  const Tensor& out;
};

// Enqueues the convolution. Returns false, with no effect, if the library does not support it.
absl::StatusOr<bool> ConvolveByLibrary(OpKernelContext& ctx, GpuStream& stream, ConvolutionPlanner& planner,
                                       const ConvolutionShape& shape, ConvolutionDirection direction,
                                       const ConvolutionTensors& tensors);

}  // namespace weir
