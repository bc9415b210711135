#include "client/checkpoint/recoverable_state.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_format.h"
#include "client/lookup/static_hash_table.h"
#include "client/ops.h"
#include "core/checkpoint/checkpoint_state.h"
#include "core/checkpoint/manifest.h"
#include "core/logging.h"
#include "core/random_bits.h"
#include "graph/graph.h"

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
  const bool apart = options_.role != TrainingRole::kOnly && !options_.saveables.empty();
  const std::vector<Saveable> together = apart ? std::vector<Saveable>() : options_.saveables;
  const bool is_saved = !options_.checkpoint_dir.empty() && !uses_stores();
  if (uses_stores() && (apart || !options_.states.empty())) {
    root.UpdateStatus(errors::InvalidArgument(
        "Checkpoints in the stores of tasks (checkpoint_tasks) hold variables, and the saveables of a single loop: not "
        "embeddings, nor the input positions of a chief or worker"));
  } else if (uses_stores() && !saves_positions_only()) {
    stores_ = std::make_unique<CheckpointStores>(root, CheckpointStoresOptions{.tasks = options_.checkpoint_tasks,
                                                                               .model = options_.checkpoint_dir,
                                                                               .holder = holder(),
                                                                               .max_to_keep = options_.max_to_keep,
                                                                               .saveables = together,
                                                                               .snapshots = options_.snapshots});
  }
  const auto make_saver = [&](const Scope& at, std::vector<Saveable> saveables, bool no_variables) {
    return std::make_unique<Saver>(at, std::vector<ResourceVariable>(),
                                   SaverOptions{.max_to_keep = options_.max_to_keep,
                                                .keep_every = options_.keep_every,
                                                .files = options_.files,
                                                .saveables = std::move(saveables),
                                                .no_variables = no_variables,
                                                .snapshots = options_.snapshots});
  };
  if (is_saved && is_replica()) saver_ = make_saver(root, {}, false);
  if (is_saved && !saves_positions_only()) saver_ = make_saver(root, options_.saveables, false);
  if (is_saved && !saves_positions_only() && apart) {
    variables_only_ = make_saver(root.SubScope("variables"), {}, false);
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
  initialize_tables_ = InitializeTables(root);
  if (!apart) return;
  if (is_saved) positions_ = make_saver(root.SubScope("positions"), options_.saveables, true);
  positions_whole_ = All(root, "all_positioned", InitializedFlags(options_.saveables));
  initialize_positions_ = Initialize(root, "init_positions", options_.saveables);
}

std::string RecoverableState::prefix() const {
  const std::string name = saves_positions_only() ? absl::StrCat("input/", options_.name, "/position") : "model.ckpt";
  return JoinPath(options_.checkpoint_dir, name);
}

absl::Status RecoverableState::TakeLease() {
  if (!is_saved() || uses_stores()) return absl::OkStatus();
  ASSIGN_OR_RETURN(FileSystem * files, options_.files->Find(prefix()));
  absl::StatusOr<std::unique_ptr<CheckpointLease>> lease = CheckpointLease::Take(files, dir(), {.holder = holder()});
  if (absl::IsUnimplemented(lease.status())) {
    WEIR_LOG(WARNING) << "Nothing prevents two processes from writing checkpoints to one directory: "
                      << lease.status().message();
    lease_ = nullptr;
  } else {
    RETURN_IF_ERROR(lease.status());
    lease_ = *std::move(lease);
  }
  return own_saver().RemoveUnfinished(prefix(), lease_.get());
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
  if (!whole) return false;
  const absl::Status same = marker_->Generation(session).status();
  if (!absl::IsFailedPrecondition(same)) RETURN_IF_ERROR(same);
  if (!same.ok()) WEIR_LOG(WARNING) << "The variables have to be restored again: " << same.message();
  return same.ok();
}

absl::StatusOr<bool> RecoverableState::IsWhole(Session& session) {
  ASSIGN_OR_RETURN(const bool whole, VariablesAreWhole(session));
  if (!whole || !positions_whole_.valid()) return whole;
  ASSIGN_OR_RETURN(const RestoredGeneration generation, marker_->Generation(session));
  return generation == generation_ ? Read(session, positions_whole_) : false;
}

absl::StatusOr<std::string> RecoverableState::RestoreNewest(const Source& source, const RestoreOne& restore) {
  if (source.saver == nullptr) return "";
  ASSIGN_OR_RETURN(std::vector<std::string> checkpoints, source.saver->Complete(source.dir));
  checkpoints.erase(std::remove_if(checkpoints.begin(), checkpoints.end(),
                                   [&](const std::string& prefix) {
                                     const auto split = SplitCheckpointStep(prefix);
                                     return split && split->second > source.most;
                                   }),
                    checkpoints.end());
  absl::Status damage;
  for (const std::string& checkpoint : checkpoints) {
    const absl::Status status = restore(checkpoint);
    if (status.ok()) return checkpoint;
    if (!absl::IsDataLoss(status)) return status;
    WEIR_LOG(WARNING) << "Checkpoint " << checkpoint << " is skipped: " << status.message();
    damage.Update(status);
  }
  if (damage.ok()) return "";
  return Annotate(damage, absl::StrCat("None of the ", checkpoints.size(), " checkpoints in ", source.dir,
                                       " can be read. To start from initial values, move them away"));
}

absl::Status RecoverableState::RestoreVariables(Session& session, const std::string& checkpoint) {
  for (const auto& state : options_.states) RETURN_IF_ERROR(state->Restore(session, checkpoint));
  if (positions_ == nullptr || is_replica()) return saver_->Restore(session, checkpoint);
  ASSIGN_OR_RETURN(const bool has_positions, positions_->HasAll(checkpoint));
  if (has_positions) return saver_->Restore(session, checkpoint);
  WEIR_LOG(WARNING) << checkpoint << " has no input position; the input starts from its beginning";
  RETURN_IF_ERROR(variables_only_->Restore(session, checkpoint));
  return session.RunTargets({initialize_positions_});
}

absl::Status RecoverableState::InitializeVariables(Session& session) {
  for (const auto& state : options_.states) RETURN_IF_ERROR(state->Initialize(session));
  RETURN_IF_ERROR(session.RunTargets({initialize_}));
  return positions_whole_.valid() ? session.RunTargets({initialize_positions_}) : absl::OkStatus();
}

absl::Status RecoverableState::RestoreFromStores(Session& session, RestoredGeneration* restored) {
  ASSIGN_OR_RETURN(CheckpointStores::Restored newest, stores_->RestoreNewest(session));
  restored->checkpoint = std::move(newest.checkpoint);
  restored->generation = newest.generation;
  return absl::OkStatus();
}

absl::Status RecoverableState::RestoreFromFiles(Session& session, RestoredGeneration* restored) {
  ASSIGN_OR_RETURN(restored->checkpoint,
                   RestoreNewest({saver_.get(), options_.checkpoint_dir},
                                 [&](const std::string& checkpoint) { return RestoreVariables(session, checkpoint); }));
  if (restored->checkpoint.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(FileSystem * files, options_.files->Find(restored->checkpoint));
  if (const auto manifest = ReadManifest(files, restored->checkpoint); manifest.ok()) {
    restored->generation = manifest->generation();
  }
  return absl::OkStatus();
}

absl::Status RecoverableState::EstablishVariables(Session& session, std::string* restored_from) {
  if (lease_ != nullptr) RETURN_IF_ERROR(lease_->Check());
  RestoredGeneration restored{.restore = absl::StrFormat("%016x", RandomBits())};
  RETURN_IF_ERROR(marker_->Begin(session, restored.restore));
  RETURN_IF_ERROR(stores_ != nullptr ? RestoreFromStores(session, &restored) : RestoreFromFiles(session, &restored));
  *restored_from = restored.checkpoint;
  if (restored.checkpoint.empty()) RETURN_IF_ERROR(InitializeVariables(session));
  RETURN_IF_ERROR(marker_->End(session, restored));
  generation_ = restored;
  return absl::OkStatus();
}

absl::Status RecoverableState::FillTables(Session& session) {
  return initialize_tables_.valid() ? session.RunTargets({initialize_tables_}) : absl::OkStatus();
}

absl::Status RecoverableState::Establish(Session& session, std::string* restored_from) {
  bool keep = false;
  if (shares_variables()) {
    ASSIGN_OR_RETURN(keep, VariablesAreWhole(session));
  }
  if (!keep && is_worker()) {
    return errors::Unavailable("The chief has not yet initialised or restored all variables");
  }
  if (!keep) return Restore(session, restored_from);
  return positions_whole_.valid() ? EstablishPositions(session) : absl::OkStatus();
}

absl::Status RecoverableState::Restore(Session& session, std::string* restored_from) {
  return EstablishVariables(session, restored_from);
}

absl::Status RecoverableState::FollowVariables(Session& session) {
  if (!positions_whole_.valid()) return absl::OkStatus();
  Source source{positions_.get(), dir()};
  if (global_step_.valid()) {
    ASSIGN_OR_RETURN(source.most, GlobalStep(session));
  }
  return RestorePositions(session, source);
}

// A worker saves its positions by itself, and a chief may have to restore them alone. Positions that are newer than the
// variables would skip examples that they have not seen.
absl::Status RecoverableState::EstablishPositions(Session& session) {
  ASSIGN_OR_RETURN(const RestoredGeneration generation, marker_->Generation(session));
  ASSIGN_OR_RETURN(const bool positioned, Read(session, positions_whole_));
  const bool went_back = generation_.has_value() && generation != *generation_;
  if (!positioned || went_back) {
    Source source{positions_.get(), dir()};
    if (global_step_.valid()) {
      ASSIGN_OR_RETURN(source.most, GlobalStep(session));
    }
    // Others may have stepped since the restore; positions of steps that it undid may still exist.
    if (const auto split = SplitCheckpointStep(generation.checkpoint); went_back && split) source.most = split->second;
    RETURN_IF_ERROR(RestorePositions(session, source));
  }
  generation_ = generation;
  return absl::OkStatus();
}

absl::Status RecoverableState::RestorePositions(Session& session, const Source& source) {
  bool has_positions = true;
  ASSIGN_OR_RETURN(const std::string from, RestoreNewest(source, [&](const std::string& checkpoint) -> absl::Status {
                     ASSIGN_OR_RETURN(has_positions, positions_->HasAll(checkpoint));
                     return has_positions ? positions_->Restore(session, checkpoint) : absl::OkStatus();
                   }));
  if (!from.empty() && has_positions) return absl::OkStatus();
  if (global_step_.valid() && source.most > 0) {
    WEIR_LOG(WARNING) << "No input position of step " << source.most << " or before in " << source.dir
                      << "; the input starts from its beginning";
  }
  return session.RunTargets({initialize_positions_});
}

absl::StatusOr<int64_t> RecoverableState::GlobalStep(Session& session) const {
  const absl::StatusOr<std::vector<Tensor>> result = session.Run({global_step_});
  if (absl::IsFailedPrecondition(result.status())) {
    return errors::Unavailable("The variables were lost again: ", result.status().message());
  }
  RETURN_IF_ERROR(result.status());
  return (*result)[0].scalar<int64_t>();
}

absl::Status RecoverableState::SaveStates(Session& session, int64_t step, Saver::SaveOptions* options) {
  options->lease = lease_.get();
  if (saves_positions_only()) return absl::OkStatus();
  const std::string checkpoint = absl::StrCat(prefix(), "-", step);
  for (const auto& state : options_.states) {
    RETURN_IF_ERROR(state->Save(session, checkpoint, lease_.get()));
    ASSIGN_OR_RETURN(const std::vector<std::string> parts, state->SavedAs(checkpoint));
    options->beside.insert(options->beside.end(), parts.begin(), parts.end());
  }
  return absl::OkStatus();
}

absl::Status RecoverableState::Save(Session& session, int64_t step) {
  if (stores_ != nullptr) return stores_->Save(session, step, nullptr);
  Saver::SaveOptions options;
  RETURN_IF_ERROR(SaveStates(session, step, &options));
  return own_saver().Save(session, prefix(), step, options).status();
}

absl::Status RecoverableState::BeginSave(Session& session, int64_t step) {
  begun_ = BegunSave{.step = step};
  RETURN_IF_ERROR(SaveStates(session, step, &begun_.options));
  ASSIGN_OR_RETURN(begun_.snapshot, own_saver().TakeSnapshot(session));
  begun_.options.snapshot = &begun_.snapshot;
  return absl::OkStatus();
}

absl::Status RecoverableState::ReserveSnapshot(Session& session) { return own_saver().ReserveSnapshot(session); }

absl::Status RecoverableState::FinishSave(Session& session) {
  if (stores_ != nullptr) return stores_->Save(session, begun_.step, &begun_.snapshot);
  return own_saver().Save(session, prefix(), begun_.step, begun_.options).status();
}

}  // namespace weir
