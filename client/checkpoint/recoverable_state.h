// The state that a training loop must not lose: variables and input positions.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/checkpoint/checkpoint_stores.h"
#include "client/checkpoint/restore_marker.h"
#include "client/saver.h"
#include "client/session.h"
#include "client/training_state.h"
#include "core/checkpoint/checkpoint_lease.h"
#include "core/files/file_system.h"

namespace weir {

struct RecoverableStateOptions {
  TrainingRole role = TrainingRole::kOnly;
  std::string checkpoint_dir;  // empty: nothing is saved
  int max_to_keep = 5;
  absl::Duration keep_every = absl::InfiniteDuration();  // see SaverOptions
  std::vector<Saveable> saveables;
  std::vector<std::shared_ptr<TrainingState>> states;  // saved and restored together with the variables
  // The task. A worker's or replica's saveables are in the directory "<checkpoint_dir>/input/<name>".
  std::string name;
  ResourceVariable global_step;
  // Checkpoints are in these tasks' stores (CheckpointStores), and `checkpoint_dir` is the model's name there. Not with
  // `states`, nor with saveables of a loop that shares its variables.
  std::vector<std::string> checkpoint_tasks;
  bool snapshots = false;  // allows BeginSave and FinishSave
  std::shared_ptr<FileSystemRegistry> files = FileSystemRegistry::Default();
};

// Adds ops to a graph that initialise, save and restore. A single loop or a chief stores its saveables with the
// variables in one checkpoint, so both are of the same step. Each worker or replica stores its own saveables. Not
// thread-safe.
class RecoverableState {
 public:
  RecoverableState(const Scope& scope, RecoverableStateOptions options);

  // Takes the lease of the directory that this loop writes to; the process that had it can no longer write there. Then
  // removes what saves left behind when earlier processes were killed.
  absl::Status TakeLease();
  // Whether all state exists and is of one restore: no task that holds some was lost.
  absl::StatusOr<bool> IsWhole(Session& session);
  // Fills the graph's lookup tables, which other state may be made with; changes none that has its entries.
  absl::Status FillTables(Session& session);
  // Restores from the newest checkpoint whose checksums are right, or else runs the initializers; `restored_from` is
  // then empty. DataLoss if there are checkpoints, but none can be read. State shared by several loops is left
  // unchanged if it is whole; if it is not, a worker gets Unavailable. A worker's saveables follow the variables back
  // when these were restored. FailedPrecondition if the lease was lost (IsLeaseLost).
  absl::Status Establish(Session& session, std::string* restored_from);
  // As Establish, but restores state that is whole, too. Not for workers.
  absl::Status Restore(Session& session, std::string* restored_from);
  // Of a replica whose variables have become those of the other loop: its saveables go back to the newest saved ones
  // that are not of a later step.
  absl::Status FollowVariables(Session& session);
  absl::Status Save(Session& session, int64_t step);
  // A save in two halves: FinishSave writes what was there at BeginSave, and may run on another thread beside steps. Of
  // options.states all is saved at BeginSave. No other call may come between the two.
  absl::Status BeginSave(Session& session, int64_t step);
  absl::Status FinishSave(Session& session);
  // See Saver: makes memory for the next BeginSave ready; may run on another thread beside steps.
  absl::Status ReserveSnapshot(Session& session);
  int64_t snapshot_bytes() const { return is_saved() ? own_saver().snapshot_bytes() : 0; }

  bool is_saved() const {
    return saves_positions_only() ? positions_ != nullptr : saver_ != nullptr || stores_ != nullptr;
  }

 private:
  using RestoreOne = std::function<absl::Status(const std::string& checkpoint)>;
  // The checkpoints of a directory, those of later steps than `most` left out.
  struct Source {
    const Saver* saver = nullptr;
    std::string dir;
    int64_t most = std::numeric_limits<int64_t>::max();
  };
  // The newest checkpoint from which `restore` succeeds, skipping damaged ones; "" if there are none.
  static absl::StatusOr<std::string> RestoreNewest(const Source& source, const RestoreOne& restore);
  absl::Status SaveStates(Session& session, int64_t step, Saver::SaveOptions* options);
  const Saver& own_saver() const {
    if (stores_ != nullptr) return stores_->saver();
    return saves_positions_only() ? *positions_ : *saver_;
  }
  bool uses_stores() const { return !options_.checkpoint_tasks.empty(); }
  absl::Status EstablishVariables(Session& session, std::string* restored_from);
  // From the newest checkpoint. `restored` stays as it is if there are none.
  absl::Status RestoreFromStores(Session& session, RestoredGeneration* restored);
  absl::Status RestoreFromFiles(Session& session, RestoredGeneration* restored);
  absl::Status RestoreVariables(Session& session, const std::string& checkpoint);
  absl::Status InitializeVariables(Session& session);
  absl::Status EstablishPositions(Session& session);
  // To the newest ones of at most the source's step.
  absl::Status RestorePositions(Session& session, const Source& source);
  absl::StatusOr<int64_t> GlobalStep(Session& session) const;
  absl::StatusOr<bool> VariablesAreWhole(Session& session);
  static absl::StatusOr<bool> Read(Session& session, const Output& flag);
  bool shares_variables() const {
    return options_.role == TrainingRole::kChief || options_.role == TrainingRole::kWorker;
  }
  bool is_worker() const { return options_.role == TrainingRole::kWorker; }
  bool is_replica() const { return options_.role == TrainingRole::kReplica; }
  bool saves_positions_only() const { return is_worker() || is_replica(); }
  std::string holder() const { return options_.role == TrainingRole::kOnly ? "training" : options_.name; }
  // Of this loop's checkpoints.
  std::string prefix() const;
  std::string dir() const { return std::string(DirName(prefix())); }

  const RecoverableStateOptions options_;
  std::unique_ptr<Saver> saver_;              // of variables and saveables; of a replica's variables
  std::unique_ptr<Saver> variables_only_;     // of a chief with saveables, for checkpoints without them
  std::unique_ptr<Saver> positions_;          // of a chief's, worker's or replica's saveables
  std::unique_ptr<CheckpointStores> stores_;  // instead of all of these
  std::unique_ptr<CheckpointLease> lease_;
  struct BegunSave {
    int64_t step = 0;
    Saver::Snapshot snapshot;
    Saver::SaveOptions options;
  };
  BegunSave begun_;
  std::unique_ptr<RestoreMarker> marker_;         // of the tasks with variables
  std::optional<RestoredGeneration> generation_;  // of the variables when the positions were established
  Output global_step_;
  Operation initialize_, initialize_positions_, initialize_tables_;
  Output variables_whole_, positions_whole_;  // latter invalid if none, or for a single loop
};

}  // namespace weir
