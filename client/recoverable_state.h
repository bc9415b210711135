// The state that a training loop must not lose: variables and input positions.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "client/restore_marker.h"
#include "client/saver.h"
#include "client/session.h"
#include "client/training_state.h"

namespace weir {

// The ownership of the variables.
enum class TrainingRole {
  kOnly,    // only this loop uses them
  kChief,   // shared with loops in other processes; this one initialises, restores and saves them
  kWorker,  // the chief's: this loop waits until the chief has initialised or restored them
};

struct RecoverableStateOptions {
  TrainingRole role = TrainingRole::kOnly;
  std::string checkpoint_dir;  // empty: nothing is saved
  int max_to_keep = 5;
  std::vector<Saveable> saveables;
  std::vector<std::shared_ptr<TrainingState>> states;  // saved and restored together with the variables
  // The directory for saveables of a chief or worker: "<checkpoint_dir>/input/<name>".
  std::string name;
  ResourceVariable global_step;
};

// Adds ops to a graph that initialise, save and restore. A single loop stores its saveables with the variables in one
// checkpoint, so both are of the same step. With a chief and workers, each loop stores its own saveables. Not
// thread-safe.
class RecoverableState {
 public:
  RecoverableState(const Scope& scope, RecoverableStateOptions options);

  // Whether all state exists: no task that holds some was lost.
  absl::StatusOr<bool> IsWhole(Session& session);
  // Restores from the newest checkpoint whose checksums are right, or else runs the initializers; `restored_from` is
  // then empty. DataLoss if there are checkpoints, but none can be read. State shared by several loops is left
  // unchanged if it is whole; if it is not, a worker gets Unavailable.
  absl::Status Establish(Session& session, std::string* restored_from);
  absl::Status Save(Session& session, int64_t step);
  // Removes what saves left behind when an earlier process was killed.
  absl::Status RemoveUnfinished() const;

  bool is_saved() const { return variables_ != nullptr || positions_ != nullptr; }

 private:
  using States = std::vector<std::shared_ptr<TrainingState>>;
  // A Saver's checkpoints, those of later steps than `most` left out.
  struct Source {
    const Saver* saver = nullptr;
    std::string dir;
    int64_t most = std::numeric_limits<int64_t>::max();
  };
  static absl::Status RestoreOrInitialize(Session& session, const Source& source, const Operation& initialize,
                                          const States& states, std::string* restored_from);
  static absl::Status RestoreFrom(Session& session, const Saver& saver, const std::string& checkpoint,
                                  const States& states);
  absl::StatusOr<int64_t> GlobalStep(Session& session) const;
  absl::Status EstablishPositions(Session& session);
  absl::StatusOr<bool> VariablesAreWhole(Session& session);
  static absl::StatusOr<bool> Read(Session& session, const Output& flag);
  bool shares_variables() const { return options_.role != TrainingRole::kOnly; }
  std::string positions_prefix() const;
  std::string variables_prefix() const;

  const RecoverableStateOptions options_;
  std::unique_ptr<Saver> variables_, positions_;
  std::unique_ptr<RestoreMarker> marker_;  // of the tasks with variables
  Output global_step_;
  Operation initialize_, initialize_positions_;
  Output variables_whole_, positions_whole_;  // latter invalid if none, or saved with the variables
};

}  // namespace weir
