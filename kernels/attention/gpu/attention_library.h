// The interface of GPU libraries for attention: cuDNN, and a simulated one for tests on any machine.
#pragma once

#include <memory>

#include "kernels/attention/gpu/attention_problem.h"
#include "kernels/device/plans/library_planner.h"

namespace weir {

struct AttentionBuffers {
  void* q = nullptr;
  void* k = nullptr;
  void* v = nullptr;
  void* mask = nullptr;  // where the problem has one
  void* out = nullptr;
  // A float for each of the problem's Rows(): the logarithm of the sum of the exponentials of a query's scores, which
  // an attention writes and its gradient reads.
  void* row_statistics = nullptr;
  float scale = 1;
  // Of a gradient alone, which reads `out` too.
  void* gradient = nullptr;  // of the output
  void* dq = nullptr;
  void* dk = nullptr;
  void* dv = nullptr;
  // For the plan to use: a float for each row, and for each element of dq.
  void* dots = nullptr;
  void* queries_sum = nullptr;
  float one = 1;
};

using AttentionPlan = LibraryPlan<AttentionProblem, AttentionBuffers>;
using AttentionLibrary = GpuLibrary<AttentionProblem, AttentionBuffers>;
using AttentionPlanner = LibraryPlanner<AttentionProblem, AttentionBuffers>;

// cuDNN for a CUDA device. UNAVAILABLE, with the reason, for other devices, if cuDNN cannot be loaded, and in a build
// without CUDA or cuDNN's headers.
absl::StatusOr<std::shared_ptr<AttentionLibrary>> CudaAttention(GpuRuntime& gpu, const GpuMathSettings& settings);
// Loops on a simulated device, for depths and columns that are multiples of 8.
std::shared_ptr<AttentionLibrary> NewSimulatedAttention(const GpuProperties& properties);

// The planner of a device, shared by all its attentions. It does not measure plans: making one takes a second.
absl::StatusOr<std::shared_ptr<AttentionPlanner>> AttentionPlannerOf(GpuDevice& gpu);

}  // namespace weir
