#include "client/recoverable_state.h"

#include "client/ops.h"
#include "core/files/file_system.h"

namespace weir {
namespace {

Output All(const Scope& scope, const std::string& name, const InputList& flags) {
  return ops::All(scope.WithName(name), ops::Pack(scope, flags), Tensor::Vector<int32_t>({0}));
}

InputList InitializedFlags(const std::vector<Saveable>& saveables) {
  InputList flags;
  for (const Saveable& saveable : saveables) flags.push_back(saveable.is_initialized);
  return flags;
}

Operation Initialize(const Scope& scope, const std::string& name, const std::vector<Saveable>& saveables,
                     std::vector<Operation> initializers = {}) {
  for (const Saveable& saveable : saveables) initializers.push_back(saveable.initializer);
  return ops::NoOp(scope.WithControlDependencies(initializers).WithName(name));
}

}  // namespace

RecoverableState::RecoverableState(const Scope& scope, RecoverableStateOptions options) : options_(std::move(options)) {
  const Scope root = scope.Root();
  const bool apart = shares_variables() && !options_.saveables.empty();
  const std::vector<Saveable> together = shares_variables() ? std::vector<Saveable>() : options_.saveables;
  if (!options_.checkpoint_dir.empty() && options_.role != TrainingRole::kWorker) {
    variables_ = std::make_unique<Saver>(root, std::vector<ResourceVariable>(),
                                         SaverOptions{.max_to_keep = options_.max_to_keep, .saveables = together});
  }
  InputList flags = InitializedFlags(together);
  for (const ResourceVariable& variable : root.variables()) flags.push_back(variable.is_initialized());
  variables_whole_ = All(root, "all_initialized", flags);
  initialize_ = Initialize(root, "init_state", together, {InitializeAll(root)});
  if (!apart) return;
  if (!options_.checkpoint_dir.empty()) {
    positions_ = std::make_unique<Saver>(
        root.SubScope("positions"), std::vector<ResourceVariable>(),
        SaverOptions{.max_to_keep = options_.max_to_keep, .saveables = options_.saveables, .no_variables = true});
  }
  positions_whole_ = All(root, "all_positioned", InitializedFlags(options_.saveables));
  initialize_positions_ = Initialize(root, "init_positions", options_.saveables);
}

std::string RecoverableState::positions_dir() const {
  return JoinPath(options_.checkpoint_dir, absl::StrCat("input/", options_.name));
}

absl::StatusOr<bool> RecoverableState::Read(Session& session, const Output& flag) {
  ASSIGN_OR_RETURN(const std::vector<Tensor> result, session.Run({flag}));
  return result[0].scalar<bool>();
}

absl::StatusOr<bool> RecoverableState::VariablesAreWhole(Session& session) {
  ASSIGN_OR_RETURN(bool whole, Read(session, variables_whole_));
  for (const auto& state : options_.states) {
    if (!whole) return false;
    ASSIGN_OR_RETURN(whole, state->IsWhole(session));
  }
  return whole;
}

absl::StatusOr<bool> RecoverableState::IsWhole(Session& session) {
  ASSIGN_OR_RETURN(const bool whole, VariablesAreWhole(session));
  return whole && positions_whole_.valid() ? Read(session, positions_whole_) : whole;
}

absl::Status RecoverableState::RestoreOrInitialize(Session& session, const Saver* saver, const std::string& dir,
                                                   const Operation& initialize, const States& states,
                                                   std::string* restored_from) {
  if (saver != nullptr) {
    auto latest = saver->Latest(dir);
    if (latest.ok()) {
      *restored_from = *latest;
      // Variables are restored last: while one is missing, nothing counts as restored.
      for (const auto& state : states) RETURN_IF_ERROR(state->Restore(session, *latest));
      return saver->Restore(session, *latest);
    }
    if (!absl::IsNotFound(latest.status())) return latest.status();
  }
  for (const auto& state : states) RETURN_IF_ERROR(state->Initialize(session));
  return session.RunTargets({initialize});
}

absl::Status RecoverableState::Establish(Session& session, std::string* restored_from) {
  bool keep = false;
  if (shares_variables()) {
    ASSIGN_OR_RETURN(keep, VariablesAreWhole(session));
  }
  if (!keep && options_.role == TrainingRole::kWorker) {
    return errors::Unavailable("The chief has not yet initialised or restored all variables");
  }
  if (!keep) {
    RETURN_IF_ERROR(RestoreOrInitialize(session, variables_.get(), options_.checkpoint_dir, initialize_,
                                        options_.states, restored_from));
  }
  if (!positions_whole_.valid()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const bool positioned, Read(session, positions_whole_));
  if (positioned) return absl::OkStatus();
  std::string position_from;
  return RestoreOrInitialize(session, positions_.get(), positions_dir(), initialize_positions_, {}, &position_from);
}

absl::Status RecoverableState::Save(Session& session, int64_t step) {
  // Positions are saved first: a checkpoint of variables is never newer than its input position.
  if (positions_ != nullptr) {
    RETURN_IF_ERROR(positions_->Save(session, JoinPath(positions_dir(), "position"), step).status());
  }
  if (variables_ == nullptr) return absl::OkStatus();
  const std::string prefix = JoinPath(options_.checkpoint_dir, "model.ckpt");
  for (const auto& state : options_.states) {
    RETURN_IF_ERROR(state->Save(session, absl::StrCat(prefix, "-", step)));
  }
  return variables_->Save(session, prefix, step).status();
}

}  // namespace weir
