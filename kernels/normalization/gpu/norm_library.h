// The interface of GPU libraries for batch normalisation: cuDNN, and a simulated one for tests on any machine.
#pragma once

#include <memory>

#include "core/gpu/gpu_device.h"
#include "core/kernel/op_kernel.h"
#include "kernels/device/plans/library_planner.h"
#include "kernels/normalization/gpu/norm_problem.h"

namespace weir {

// The arguments of a call. A vector has a number for each channel.
struct NormBuffers {
  const void* x = nullptr;
  const void* dy = nullptr;    // backward
  const void* side = nullptr;  // where the problem has one
  void* result = nullptr;      // y, or the gradient at x
  const float* scale = nullptr;
  // Forward.
  const float* offset = nullptr;
  const float* zeros = nullptr;       // running averages that do not count
  float* running_mean = nullptr;      // the batch's again
  float* running_variance = nullptr;  // of the batch, as of a sample of a whole
  // Written forward, read backward: of the batch, and 1 / sqrt(variance of the batch + epsilon).
  float* mean = nullptr;
  float* inverse_deviation = nullptr;
  // Backward.
  float* dscale = nullptr;
  float* doffset = nullptr;
  // By value; the forward averages are the batch's alone.
  float epsilon = 0, average_factor = 1;
};

using NormPlan = LibraryPlan<NormProblem, NormBuffers>;
using NormLibrary = GpuLibrary<NormProblem, NormBuffers>;
using NormPlanner = LibraryPlanner<NormProblem, NormBuffers>;

// cuDNN for a CUDA device. UNAVAILABLE, with the reason, for other devices, if cuDNN cannot be loaded, and in a build
// without CUDA or cuDNN's headers.
absl::StatusOr<std::shared_ptr<NormLibrary>> CudaNorms(GpuRuntime& gpu, const GpuMathSettings& settings);
// Loops on a simulated device, by two recipes that give the same bits; the second wants workspace. As other libraries
// it has a gap: no bfloat16 in NCHW.
std::shared_ptr<NormLibrary> NewSimulatedNorms(const GpuProperties& properties, const GpuMathSettings& settings);

// The planner of a device, shared by all its nodes.
absl::StatusOr<std::shared_ptr<NormPlanner>> NormPlannerOf(GpuDevice& gpu);

// Whether libraries accept the problem and its numbers. They reject:
// - channels of a single element, which have no sample variance,
// - an epsilon below zero, cuDNN's minimum,
// - memory that is not aligned for plans.
bool IsForLibraries(const NormProblem& problem, const NormBuffers& buffers);
// Enqueues the call. Returns false, with no effect, if the library does not support it.
absl::StatusOr<bool> NormaliseByLibrary(OpKernelContext& ctx, GpuStream& stream, NormPlanner& planner,
                                        const NormProblem& problem, const NormBuffers& buffers);

}  // namespace weir
