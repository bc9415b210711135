#include "kernels/device/cudnn/cudnn_plans.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/cuda/cuda_status.h"
#include "core/cuda/cuda_stream.h"

namespace weir {
namespace {

// The most proposals of each kind of heuristics.
constexpr int64_t kMostProposals = 16;

absl::StatusOr<LibraryRecipe> RecipeOf(const CudnnDescriptor& config, const CudnnDescriptor& engine) {
  LibraryRecipe recipe;
  ASSIGN_OR_RETURN(recipe.engine, engine.GetInt64(CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
  ASSIGN_OR_RETURN(const std::vector<CudnnDescriptor> choices,
                   config.GetDescriptors(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR,
                                         CUDNN_KNOB_TYPE_COUNTS));
  for (const CudnnDescriptor& choice : choices) {
    ASSIGN_OR_RETURN(const auto kind,
                     choice.GetMany<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1));
    ASSIGN_OR_RETURN(const int64_t value, choice.GetInt64(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE));
    if (!kind.empty()) recipe.knobs.emplace_back(kind[0], value);
  }
  return recipe;
}

}  // namespace

// A handle is one thread's at a time, and graphs and plans use it while they are made.
struct CudnnPlan::Session {
  explicit Session(std::shared_ptr<const CudnnTarget> target_in) : target(std::move(target_in)) {}
  const std::shared_ptr<const CudnnTarget> target;
  Mutex mu;
};

CudnnPlan::CudnnPlan(std::shared_ptr<Session> session, LibraryRecipe recipe, CudnnDescriptor plan,
                     size_t workspace_bytes)
    : session_(std::move(session)),
      recipe_(std::move(recipe)),
      plan_(std::move(plan)),
      workspace_bytes_(workspace_bytes) {}

CudnnPlan::~CudnnPlan() {  // its code goes with it: from its own device, whichever this thread has selected
  const CudnnTarget& target = *session_->target;
  if (target.handle() != nullptr) SelectCudaDevice(target.ordinal()).IgnoreError();
}

absl::Status CudnnPlan::Enqueue(GpuStream& stream, absl::Span<const int64_t> names, absl::Span<void* const> pointers,
                                void* workspace) const {
  const CudnnTarget& target = *session_->target;
  const CudnnFunctions& cudnn = target.cudnn();
  if (target.handle() == nullptr) return errors::FailedPrecondition("This plan is for a device that is not at hand");
  ASSIGN_OR_RETURN(CudnnDescriptor arguments, CudnnDescriptor::New(cudnn, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR));
  RETURN_IF_ERROR(arguments.SetInt64s(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, names));
  RETURN_IF_ERROR(arguments.SetMany<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, pointers));
  RETURN_IF_ERROR(arguments.Set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace));
  RETURN_IF_ERROR(arguments.Finalize("the arguments of a plan"));
  RETURN_IF_ERROR(SelectCudaDevice(target.ordinal()));
  MutexLock lock(session_->mu);
  RETURN_IF_ERROR(cudnn.StatusOf(cudnn.SetStream(target.handle(), static_cast<cudaStream_t>(stream.native())),
                                 "choosing a stream"));
  const cudnnStatus_t status = cudnn.Execute(target.handle(), plan_.get(), arguments.get());
  if (status == CUDNN_STATUS_SUCCESS) return absl::OkStatus();
  const cudaError_t error = cudaGetLastError();  // which must not show in a later call
  // What broke the device says more than that the library noticed.
  if (CUDNN_STATUS_CATEGORY(status) != CUDNN_STATUS_NOT_SUPPORTED) {
    RETURN_IF_CUDA_ERROR(error, "a graph by cuDNN");
  }
  return cudnn.StatusOf(status, absl::StrCat("recipe ", recipe_.ToString()));
}

CudnnPlans::CudnnPlans(std::shared_ptr<const CudnnTarget> target, const GpuMathSettings& settings)
    : session_(std::make_shared<CudnnPlan::Session>(std::move(target))),
      cudnn_(session_->target->cudnn()),
      settings_(settings) {}

absl::StatusOr<std::vector<LibraryRecipe>> CudnnPlans::Propose(MakeGraph make_graph, DataType dtype) const {
  RETURN_IF_ERROR(Select());
  MutexLock lock(session_->mu);
  std::vector<LibraryRecipe> recipes;
  const absl::StatusOr<CudnnDescriptor> graph = make_graph(*session_->target);
  if (absl::IsUnimplemented(graph.status())) return recipes;
  RETURN_IF_ERROR(graph.status());
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    const absl::Status status = AddProposals(*graph, dtype, mode, &recipes);
    if (!status.ok() && !absl::IsUnimplemented(status)) return status;
  }
  return recipes;
}

absl::StatusOr<std::shared_ptr<CudnnPlan>> CudnnPlans::Make(MakeGraph make_graph, DataType dtype,
                                                            const LibraryRecipe& recipe) const {
  RETURN_IF_ERROR(Select());
  MutexLock lock(session_->mu);
  absl::StatusOr<std::shared_ptr<CudnnPlan>> plan = MakeAlone(make_graph, dtype, recipe);
  if (!plan.ok()) cudaGetLastError();  // which must not show in a later call
  return plan;
}

// For whoever has the session's lock.
absl::StatusOr<std::shared_ptr<CudnnPlan>> CudnnPlans::MakeAlone(MakeGraph make_graph, DataType dtype,
                                                                 const LibraryRecipe& recipe) const {
  ASSIGN_OR_RETURN(const CudnnDescriptor graph, make_graph(*session_->target));
  ASSIGN_OR_RETURN(const CudnnDescriptor engine, NewEngine(graph, recipe.engine));
  RETURN_IF_ERROR(CheckNotes(engine, dtype));
  std::vector<CudnnDescriptor> choices;
  for (const auto& [kind, value] : recipe.knobs) {
    ASSIGN_OR_RETURN(CudnnDescriptor choice, NewChoice(kind, value));
    choices.push_back(std::move(choice));
  }
  ASSIGN_OR_RETURN(CudnnDescriptor config, CudnnDescriptor::New(cudnn_, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
  RETURN_IF_ERROR(config.SetDescriptor(CUDNN_ATTR_ENGINECFG_ENGINE, engine));
  if (!choices.empty()) RETURN_IF_ERROR(config.SetDescriptors(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, choices));
  RETURN_IF_ERROR(config.Finalize("an engine's settings"));
  ASSIGN_OR_RETURN(CudnnDescriptor plan, CudnnDescriptor::New(cudnn_, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR));
  RETURN_IF_ERROR(session_->target->TellPlan(plan));
  RETURN_IF_ERROR(plan.SetDescriptor(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config));
  RETURN_IF_ERROR(plan.Finalize("a plan"));
  ASSIGN_OR_RETURN(const int64_t workspace, plan.GetInt64(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
  if (workspace < 0 || static_cast<size_t>(workspace) > settings_.workspace_limit) {
    return errors::Unimplemented("recipe ", recipe.ToString(), " wants ", workspace, " bytes of workspace; at most ",
                                 settings_.workspace_limit, " are allowed");
  }
  return std::shared_ptr<CudnnPlan>(new CudnnPlan(session_, recipe, std::move(plan), static_cast<size_t>(workspace)));
}

absl::Status CudnnPlans::Select() const {
  if (session_->target->handle() == nullptr) return absl::OkStatus();
  return SelectCudaDevice(session_->target->ordinal());
}

absl::Status CudnnPlans::AddProposals(const CudnnDescriptor& graph, DataType dtype, cudnnBackendHeurMode_t mode,
                                      std::vector<LibraryRecipe>* recipes) const {
  ASSIGN_OR_RETURN(CudnnDescriptor heuristics, CudnnDescriptor::New(cudnn_, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR));
  RETURN_IF_ERROR(heuristics.SetDescriptor(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph));
  RETURN_IF_ERROR(heuristics.Set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode));
  RETURN_IF_ERROR(session_->target->TellHeuristics(heuristics));
  RETURN_IF_ERROR(heuristics.Finalize("heuristics"));
  ASSIGN_OR_RETURN(
      const std::vector<CudnnDescriptor> configs,
      heuristics.GetDescriptors(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, kMostProposals));
  for (const CudnnDescriptor& config : configs) {
    ASSIGN_OR_RETURN(const std::vector<CudnnDescriptor> engine,
                     config.GetDescriptors(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1));
    if (engine.empty()) return errors::Internal("cuDNN: an engine's settings have no engine");
    if (!CheckNotes(engine[0], dtype).ok()) continue;
    ASSIGN_OR_RETURN(LibraryRecipe recipe, RecipeOf(config, engine[0]));
    if (std::find(recipes->begin(), recipes->end(), recipe) == recipes->end()) recipes->push_back(std::move(recipe));
  }
  return absl::OkStatus();
}

absl::StatusOr<CudnnDescriptor> CudnnPlans::NewEngine(const CudnnDescriptor& graph, int64_t index) const {
  ASSIGN_OR_RETURN(CudnnDescriptor engine, CudnnDescriptor::New(cudnn_, CUDNN_BACKEND_ENGINE_DESCRIPTOR));
  RETURN_IF_ERROR(engine.SetDescriptor(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph));
  RETURN_IF_ERROR(engine.SetInt64(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, index));
  RETURN_IF_ERROR(session_->target->TellEngine(engine));
  RETURN_IF_ERROR(engine.Finalize("an engine"));
  return engine;
}

absl::StatusOr<CudnnDescriptor> CudnnPlans::NewChoice(int64_t kind, int64_t value) const {
  ASSIGN_OR_RETURN(CudnnDescriptor choice, CudnnDescriptor::New(cudnn_, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR));
  RETURN_IF_ERROR(
      choice.Set(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, static_cast<cudnnBackendKnobType_t>(kind)));
  RETURN_IF_ERROR(choice.SetInt64(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, value));
  RETURN_IF_ERROR(choice.Finalize("a setting of an engine"));
  return choice;
}

// UNIMPLEMENTED for an engine that computes otherwise than the settings want.
absl::Status CudnnPlans::CheckNotes(const CudnnDescriptor& engine, DataType dtype) const {
  ASSIGN_OR_RETURN(const auto notes,
                   engine.GetMany<cudnnBackendNumericalNote_t>(
                       CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT));
  for (const cudnnBackendNumericalNote_t note : notes) {
    const bool is_imprecise = note == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS ||
                              (note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE && dtype == DT_FLOAT && !settings_.allow_tf32);
    if (is_imprecise || (note == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC && settings_.deterministic)) {
      return errors::Unimplemented("the engine is not as precise, or not as deterministic, as is asked for");
    }
  }
  return absl::OkStatus();
}

}  // namespace weir
