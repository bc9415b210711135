#include "kernels/cuda/convolution/cudnn_convolutions.h"

#include <cuda_runtime_api.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/cuda/cuda_runtime.h"
#include "core/cuda/cuda_status.h"
#include "kernels/cuda/convolution/cudnn_graph_of.h"
#include "kernels/cuda/convolution/library_convolution.h"
#include "kernels/cuda/cudnn/cudnn_plans.h"

namespace weir {
namespace {

class CudnnConvolution : public ConvolutionPlan {
 public:
  CudnnConvolution(const ConvolutionProblem& problem, std::shared_ptr<CudnnPlan> plan)
      : problem_(problem), plan_(std::move(plan)) {}
  const ConvolutionProblem& problem() const override { return problem_; }
  const LibraryRecipe& recipe() const override { return plan_->recipe(); }
  size_t workspace_bytes() const override { return plan_->workspace_bytes(); }
  absl::Status Enqueue(GpuStream& stream, const ConvolutionBuffers& buffers, void* workspace) override {
    return plan_->Enqueue(stream, {kCudnnIn, kCudnnFilter, kCudnnOut}, {buffers.in, buffers.filter, buffers.out},
                          workspace);
  }

 private:
  const ConvolutionProblem problem_;
  const std::shared_ptr<CudnnPlan> plan_;
};

class CudnnConvolutions : public ConvolutionLibrary {
 public:
  CudnnConvolutions(std::shared_ptr<const CudnnTarget> target, const GpuProperties& properties, std::string identity,
                    const GpuMathSettings& settings)
      : plans_(std::move(target), settings),
        compute_major_(properties.compute_major),
        identity_(std::move(identity)),
        allow_tf32_(settings.allow_tf32) {}

  const std::string& identity() const override { return identity_; }

  // As TensorFlow: what runs on tensor cores in NHWC, and all else in NCHW.
  std::vector<bool> Layouts(const ConvolutionProblem& problem) const override {
    const bool has_tensor_cores = problem.dtype == DT_HALF ? compute_major_ >= 7 : compute_major_ >= 8;
    const bool uses_them = has_tensor_cores && (problem.dtype != DT_FLOAT || allow_tf32_);
    if (problem.channels_first || !uses_them) return {true, false};
    return {false, true};
  }

  absl::StatusOr<std::vector<LibraryRecipe>> Propose(const ConvolutionProblem& problem) override {
    return plans_.Propose([&](const CudnnTarget& target) { return CudnnGraphOf(target, problem); }, problem.dtype);
  }

  absl::StatusOr<std::shared_ptr<ConvolutionPlan>> Make(const ConvolutionProblem& problem,
                                                        const LibraryRecipe& recipe) override {
    ASSIGN_OR_RETURN(
        std::shared_ptr<CudnnPlan> plan,
        plans_.Make([&](const CudnnTarget& target) { return CudnnGraphOf(target, problem); }, problem.dtype, recipe));
    return std::make_shared<CudnnConvolution>(problem, std::move(plan));
  }

 private:
  const CudnnPlans plans_;
  const int compute_major_;
  const std::string identity_;
  const bool allow_tf32_;
};

}  // namespace

std::shared_ptr<ConvolutionLibrary> NewCudnnConvolutions(std::shared_ptr<const CudnnTarget> target,
                                                         const GpuProperties& properties, std::string identity,
                                                         const GpuMathSettings& settings) {
  return std::make_shared<CudnnConvolutions>(std::move(target), properties, std::move(identity), settings);
}

absl::StatusOr<std::shared_ptr<ConvolutionLibrary>> CudaConvolutions(GpuRuntime& gpu, const GpuMathSettings& settings) {
  const GpuProperties& properties = gpu.properties();
  const std::optional<int> ordinal = CudaOrdinalOf(gpu);
  if (!ordinal.has_value()) return errors::Unavailable(properties.name, " is not one of CUDA's");
  ASSIGN_OR_RETURN(const CudnnFunctions* const cudnn, LoadCudnn());
  ASSIGN_OR_RETURN(std::shared_ptr<const CudnnTarget> target, CudnnTarget::Open(*cudnn, *ordinal));
  int driver = 0;
  RETURN_IF_CUDA_ERROR(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  std::string identity = absl::StrCat(properties.name, ", sm_", properties.compute_major, properties.compute_minor,
                                      ", driver ", driver, ", cuDNN ", cudnn->version);
  return NewCudnnConvolutions(std::move(target), properties, std::move(identity), settings);
}

}  // namespace weir
