// cuDNN's graphs as a library for one kind of problem.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/device/cudnn/cudnn_plans.h"
#include "kernels/device/plans/gpu_library.h"

namespace weir {

// The arguments of a graph: its tensors' names, and their memory on the device, or on the host for what is passed by
// value.
struct CudnnArguments {
  std::vector<int64_t> names;
  std::vector<void*> pointers;

  void Add(int64_t name, const void* pointer) {
    names.push_back(name);
    pointers.push_back(const_cast<void*>(pointer));
  }
};

// How a kind of problem is told to cuDNN.
template <typename Problem, typename Buffers>
struct CudnnForm {
  // Finalised. UNIMPLEMENTED, with a reason, for what cannot be told.
  absl::StatusOr<CudnnDescriptor> (*graph)(const CudnnTarget& target, const Problem& problem);
  // Values are passed by pointers into `buffers`.
  CudnnArguments (*arguments)(const Problem& problem, const Buffers& buffers);
};

// Where the target is only described plans can be made, and to enqueue one is FAILED_PRECONDITION.
template <typename Problem, typename Buffers>
class CudnnLibrary : public GpuLibrary<Problem, Buffers> {
 public:
  CudnnLibrary(std::shared_ptr<const CudnnTarget> target, std::string identity, const GpuMathSettings& settings,
               CudnnForm<Problem, Buffers> form)
      : plans_(std::move(target), settings), identity_(std::move(identity)), form_(form) {}

  const std::string& identity() const override { return identity_; }

  absl::StatusOr<std::vector<LibraryRecipe>> Propose(const Problem& problem) override {
    return plans_.Propose([&](const CudnnTarget& target) { return form_.graph(target, problem); }, problem.dtype);
  }

  absl::StatusOr<std::shared_ptr<LibraryPlan<Problem, Buffers>>> Make(const Problem& problem,
                                                                      const LibraryRecipe& recipe) override {
    ASSIGN_OR_RETURN(
        std::shared_ptr<CudnnPlan> plan,
        plans_.Make([&](const CudnnTarget& target) { return form_.graph(target, problem); }, problem.dtype, recipe));
    return std::make_shared<Plan>(problem, std::move(plan), form_);
  }

 private:
  class Plan : public LibraryPlan<Problem, Buffers> {
   public:
    Plan(const Problem& problem, std::shared_ptr<CudnnPlan> plan, CudnnForm<Problem, Buffers> form)
        : problem_(problem), plan_(std::move(plan)), form_(form) {}
    const Problem& problem() const override { return problem_; }
    const LibraryRecipe& recipe() const override { return plan_->recipe(); }
    size_t workspace_bytes() const override { return plan_->workspace_bytes(); }
    absl::Status Enqueue(GpuStream& stream, const Buffers& buffers, void* workspace) override {
      const CudnnArguments arguments = form_.arguments(problem_, buffers);
      return plan_->Enqueue(stream, arguments.names, arguments.pointers, workspace);
    }

   private:
    const Problem problem_;
    const std::shared_ptr<CudnnPlan> plan_;
    const CudnnForm<Problem, Buffers> form_;
  };

  const CudnnPlans plans_;
  const std::string identity_;
  const CudnnForm<Problem, Buffers> form_;
};

// cuDNN for a device of CUDA's, and what it is called: device, driver and library with their versions.
struct CudnnOfDevice {
  std::shared_ptr<const CudnnTarget> target;
  std::string identity;
};
// UNAVAILABLE, with the reason, for other devices, and where the library cannot be loaded.
absl::StatusOr<CudnnOfDevice> OpenCudnn(GpuRuntime& gpu);

}  // namespace weir
