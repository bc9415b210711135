#include "kernels/cuda/attention/cudnn_attention.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/cuda/cuda_runtime.h"
#include "kernels/cuda/attention/cudnn_attention_graph.h"
#include "kernels/cuda/cudnn/cudnn_plans.h"

namespace weir {
namespace {

class CudnnAttentionPlan : public AttentionPlan {
 public:
  CudnnAttentionPlan(bool has_mask, std::shared_ptr<CudnnPlan> plan) : has_mask_(has_mask), plan_(std::move(plan)) {}
  size_t workspace_bytes() const override { return plan_->workspace_bytes(); }
  absl::Status Enqueue(GpuStream& stream, const AttentionBuffers& buffers, float scale, void* workspace) override {
    std::vector<int64_t> names = {kCudnnQueries, kCudnnKeys, kCudnnValues, kCudnnMixed, kCudnnStatistics, kCudnnScale};
    std::vector<void*> pointers = {buffers.q, buffers.k, buffers.v, buffers.out, buffers.row_statistics, &scale};
    if (has_mask_) {
      names.push_back(kCudnnMask);
      pointers.push_back(buffers.mask);
    }
    return plan_->Enqueue(stream, names, pointers, workspace);
  }

 private:
  const bool has_mask_;
  const std::shared_ptr<CudnnPlan> plan_;
};

class CudnnAttention : public AttentionLibrary {
 public:
  CudnnAttention(std::shared_ptr<const CudnnTarget> target, std::string identity, const GpuMathSettings& settings)
      : plans_(std::move(target), settings), identity_(std::move(identity)) {}

  const std::string& identity() const override { return identity_; }

  // The first of its proposals that can be made.
  absl::StatusOr<std::shared_ptr<AttentionPlan>> Make(const AttentionProblem& problem) override {
    const auto graph = [&](const CudnnTarget& target) { return CudnnAttentionGraphOf(target, problem); };
    ASSIGN_OR_RETURN(const std::vector<LibraryRecipe> recipes, plans_.Propose(graph, problem.dtype));
    absl::Status last = errors::Unimplemented("cuDNN proposes no engine");
    for (const LibraryRecipe& recipe : recipes) {
      absl::StatusOr<std::shared_ptr<CudnnPlan>> plan = plans_.Make(graph, problem.dtype, recipe);
      if (plan.ok()) return std::make_shared<CudnnAttentionPlan>(problem.has_mask, *std::move(plan));
      last = plan.status();
    }
    return last;
  }

 private:
  const CudnnPlans plans_;
  const std::string identity_;
};

}  // namespace

std::shared_ptr<AttentionLibrary> NewCudnnAttention(std::shared_ptr<const CudnnTarget> target, std::string identity,
                                                    const GpuMathSettings& settings) {
  return std::make_shared<CudnnAttention>(std::move(target), std::move(identity), settings);
}

absl::StatusOr<std::shared_ptr<AttentionLibrary>> CudaAttention(GpuRuntime& gpu, const GpuMathSettings& settings) {
  const std::optional<int> ordinal = CudaOrdinalOf(gpu);
  if (!ordinal.has_value()) return errors::Unavailable(gpu.properties().name, " is not one of CUDA's");
  ASSIGN_OR_RETURN(const CudnnFunctions* const cudnn, LoadCudnn());
  ASSIGN_OR_RETURN(std::shared_ptr<const CudnnTarget> target, CudnnTarget::Open(*cudnn, *ordinal));
  return NewCudnnAttention(std::move(target), absl::StrCat(gpu.properties().name, ", cuDNN ", cudnn->version),
                           settings);
}

}  // namespace weir
