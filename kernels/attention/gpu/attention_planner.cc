#include "core/gpu/simulated_gpu.h"
#include "kernels/attention/gpu/attention_library.h"
#include "kernels/device/plans/library_planner_definitions.h"

namespace weir {

template class LibraryPlanner<AttentionProblem, AttentionBuffers>;

namespace {

absl::StatusOr<std::shared_ptr<AttentionLibrary>> LibraryFor(GpuRuntime& gpu, const GpuMathSettings& settings) {
  if (dynamic_cast<SimulatedGpu*>(&gpu) != nullptr) return NewSimulatedAttention(gpu.properties());
  return CudaAttention(gpu, settings);
}

}  // namespace

absl::StatusOr<std::shared_ptr<AttentionPlanner>> AttentionPlannerOf(GpuDevice& gpu) {
  return PlannerOf<AttentionProblem, AttentionBuffers>(gpu, false, &LibraryFor);
}

}  // namespace weir
