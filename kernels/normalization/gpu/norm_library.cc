#include "kernels/normalization/gpu/norm_library.h"

#include "core/gpu/simulated_gpu.h"
#include "kernels/device/plans/library_planner_definitions.h"

namespace weir {

template class LibraryPlanner<NormProblem, NormBuffers>;

namespace {

absl::StatusOr<std::shared_ptr<NormLibrary>> LibraryFor(GpuRuntime& gpu, const GpuMathSettings& settings) {
  if (dynamic_cast<SimulatedGpu*>(&gpu) != nullptr) return NewSimulatedNorms(gpu.properties(), settings);
  return CudaNorms(gpu, settings);
}

bool IsAligned(const void* data) { return reinterpret_cast<uintptr_t>(data) % kPlanAlignment == 0; }

}  // namespace

absl::StatusOr<std::shared_ptr<NormPlanner>> NormPlannerOf(GpuDevice& gpu) {
  return PlannerOf<NormProblem, NormBuffers>(gpu, true, &LibraryFor);
}

bool IsForLibraries(const NormProblem& problem, const NormBuffers& buffers) {
  if (problem.PerChannel() < 2 || problem.channels == 0 || !(buffers.epsilon >= 0)) return false;
  for (const void* data : {buffers.x, buffers.dy, buffers.side, static_cast<const void*>(buffers.result)}) {
    if (!IsAligned(data)) return false;
  }
  for (const float* vector : {buffers.scale, buffers.offset, static_cast<const float*>(buffers.mean),
                              static_cast<const float*>(buffers.inverse_deviation)}) {
    if (!IsAligned(vector)) return false;
  }
  return true;
}

absl::StatusOr<bool> NormaliseByLibrary(OpKernelContext& ctx, GpuStream& stream, NormPlanner& planner,
                                        const NormProblem& problem, const NormBuffers& buffers) {
  return planner.Run(problem, stream, [&](NormPlan& plan) -> absl::Status {
    ASSIGN_OR_RETURN(const TensorShape bytes, TensorShape::Build({static_cast<int64_t>(plan.workspace_bytes())}));
    ASSIGN_OR_RETURN(const Tensor workspace, ctx.allocate_temp(DT_UINT8, bytes));
    return plan.Enqueue(stream, buffers, workspace.raw_data());
  });
}

}  // namespace weir
