#include "client/recoverable_state.h"

#include <algorithm>
#include <set>

#include "client/ops.h"
#include "core/checkpoint/checkpoint_state.h"
#include "core/files/file_system.h"
#include "core/logging.h"

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
  std::set<std::string> devices;
  for (const ResourceVariable& variable : root.variables()) {
    flags.push_back(variable.is_initialized());
    if (variable.valid()) devices.insert(variable.handle().node()->requested_device());
  }
  marker_ = std::make_unique<RestoreMarker>(root, devices, options_.global_step.name());
  flags.insert(flags.end(), marker_->whole().begin(), marker_->whole().end());
  if (options_.global_step.valid()) {
    global_step_ = options_.global_step.Read(root.ColocateWith(options_.global_step.handle().op()));
  }
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

std::string RecoverableState::positions_prefix() const {
  return JoinPath(options_.checkpoint_dir, absl::StrCat("input/", options_.name, "/position"));
}

std::string RecoverableState::variables_prefix() const { return JoinPath(options_.checkpoint_dir, "model.ckpt"); }

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

absl::Status RecoverableState::RestoreFrom(Session& session, const Saver& saver, const std::string& checkpoint,
                                           const States& states) {
  for (const auto& state : states) RETURN_IF_ERROR(state->Restore(session, checkpoint));
  return saver.Restore(session, checkpoint);
}

absl::Status RecoverableState::RestoreOrInitialize(Session& session, const Source& source, const Operation& initialize,
                                                   const States& states, std::string* restored_from) {
  std::vector<std::string> checkpoints;
  if (source.saver != nullptr) {
    ASSIGN_OR_RETURN(checkpoints, source.saver->Complete(source.dir));
    checkpoints.erase(std::remove_if(checkpoints.begin(), checkpoints.end(),
                                     [&](const std::string& prefix) {
                                       const auto split = SplitCheckpointStep(prefix);
                                       return split && split->second > source.most;
                                     }),
                      checkpoints.end());
  }
  absl::Status damage;
  for (const std::string& checkpoint : checkpoints) {
    const absl::Status status = RestoreFrom(session, *source.saver, checkpoint, states);
    if (status.ok()) {
      *restored_from = checkpoint;
      return status;
    }
    if (!absl::IsDataLoss(status)) return status;
    WEIR_LOG(WARNING) << "Checkpoint " << checkpoint << " is skipped: " << status.message();
    damage.Update(status);
  }
  if (!damage.ok()) {
    return Annotate(damage, absl::StrCat("None of the ", checkpoints.size(), " checkpoints in ", source.dir,
                                         " can be read. To start from initial values, move them away"));
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
    RETURN_IF_ERROR(marker_->Begin(session));
    RETURN_IF_ERROR(RestoreOrInitialize(session, {variables_.get(), options_.checkpoint_dir}, initialize_,
                                        options_.states, restored_from));
    RETURN_IF_ERROR(marker_->End(session));
  }
  return positions_whole_.valid() ? EstablishPositions(session) : absl::OkStatus();
}

// Positions are saved before variables, and by each loop for itself. One that is newer than the variables would skip
// examples that they have not seen.
absl::Status RecoverableState::EstablishPositions(Session& session) {
  ASSIGN_OR_RETURN(const bool positioned, Read(session, positions_whole_));
  if (positioned) return absl::OkStatus();
  Source source{positions_.get(), std::string(DirName(positions_prefix()))};
  if (global_step_.valid()) {
    ASSIGN_OR_RETURN(source.most, GlobalStep(session));
  }
  std::string position_from;
  RETURN_IF_ERROR(RestoreOrInitialize(session, source, initialize_positions_, {}, &position_from));
  if (position_from.empty() && global_step_.valid() && source.most > 0) {
    WEIR_LOG(WARNING) << "No input position of step " << source.most << " or before in " << source.dir
                      << "; the input starts from its beginning";
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> RecoverableState::GlobalStep(Session& session) const {
  const absl::StatusOr<std::vector<Tensor>> result = session.Run({global_step_});
  if (absl::IsFailedPrecondition(result.status())) {
    return errors::Unavailable("The variables were lost again: ", result.status().message());
  }
  RETURN_IF_ERROR(result.status());
  return (*result)[0].scalar<int64_t>();
}

absl::Status RecoverableState::Save(Session& session, int64_t step) {
  // Positions are saved first: a checkpoint of variables always has a position that is no newer.
  if (positions_ != nullptr) RETURN_IF_ERROR(positions_->Save(session, positions_prefix(), step).status());
  if (variables_ == nullptr) return absl::OkStatus();
  for (const auto& state : options_.states) {
    RETURN_IF_ERROR(state->Save(session, absl::StrCat(variables_prefix(), "-", step)));
  }
  return variables_->Save(session, variables_prefix(), step).status();
}

absl::Status RecoverableState::RemoveUnfinished() const {
  if (positions_ != nullptr) RETURN_IF_ERROR(positions_->RemoveUnfinished(positions_prefix()));
  return variables_ == nullptr ? absl::OkStatus() : variables_->RemoveUnfinished(variables_prefix());
}

}  // namespace weir
