// Plans of cuDNN's graphs: which of its engines compute one, and how they are run.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/gpu/gpu_math_settings.h"
#include "core/gpu/gpu_runtime.h"
#include "core/mutex.h"
#include "core/tensor/types.h"
#include "kernels/device/cudnn/cudnn_target.h"
#include "kernels/device/plans/library_recipe.h"

namespace weir {

// A graph by an engine, ready to run. Thread-safe.
class CudnnPlan {
 public:
  ~CudnnPlan();
  CudnnPlan(const CudnnPlan&) = delete;

  const LibraryRecipe& recipe() const { return recipe_; }
  size_t workspace_bytes() const { return workspace_bytes_; }
  // Enqueues it for the graph's tensors of these names; `pointers` are the device's, or the host's for tensors that are
  // passed by value. UNIMPLEMENTED where the library finds only now that it cannot do it: nothing has been enqueued.
  // FAILED_PRECONDITION for a device that is only described.
  absl::Status Enqueue(GpuStream& stream, absl::Span<const int64_t> names, absl::Span<void* const> pointers,
                       void* workspace) const;

 private:
  friend class CudnnPlans;
  struct Session;
  CudnnPlan(std::shared_ptr<Session> session, LibraryRecipe recipe, CudnnDescriptor plan, size_t workspace_bytes);

  const std::shared_ptr<Session> session_;
  const LibraryRecipe recipe_;
  const CudnnDescriptor plan_;
  const size_t workspace_bytes_;
};

// Finds and makes the plans of one device, within its settings: no engine that needs more workspace, is less
// deterministic or, for float, less precise than they allow. Thread-safe.
class CudnnPlans {
 public:
  // Describes what is to be computed. UNIMPLEMENTED: the library cannot.
  using MakeGraph = absl::FunctionRef<absl::StatusOr<CudnnDescriptor>(const CudnnTarget& target)>;

  CudnnPlans(std::shared_ptr<const CudnnTarget> target, const GpuMathSettings& settings);

  // What its heuristics think best first. Empty: no engine computes the graph, whose tensors are of `dtype`.
  absl::StatusOr<std::vector<LibraryRecipe>> Propose(MakeGraph graph, DataType dtype) const;
  // UNIMPLEMENTED for a recipe that does not compute the graph, or that the settings forbid.
  absl::StatusOr<std::shared_ptr<CudnnPlan>> Make(MakeGraph graph, DataType dtype, const LibraryRecipe& recipe) const;

 private:
  absl::Status Select() const;
  absl::StatusOr<std::shared_ptr<CudnnPlan>> MakeAlone(MakeGraph graph, DataType dtype,
                                                       const LibraryRecipe& recipe) const;
  absl::Status AddProposals(const CudnnDescriptor& graph, DataType dtype, cudnnBackendHeurMode_t mode,
                            std::vector<LibraryRecipe>* recipes) const;
  absl::StatusOr<CudnnDescriptor> NewEngine(const CudnnDescriptor& graph, int64_t index) const;
  absl::StatusOr<CudnnDescriptor> NewChoice(int64_t kind, int64_t value) const;
  absl::Status CheckNotes(const CudnnDescriptor& engine, DataType dtype) const;

  const std::shared_ptr<CudnnPlan::Session> session_;
  const CudnnFunctions& cudnn_;
  const GpuMathSettings settings_;
};

}  // namespace weir
