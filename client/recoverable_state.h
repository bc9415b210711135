// The state that a training loop must not lose: variables and input positions.
#pragma once

#include <memory>
#include <string>
#include <vector>

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
};

// Adds ops to a graph that initialise, save and restore. A single loop stores its saveables with the variables in one
// checkpoint, so both are of the same step. With a chief and workers, each loop stores its own saveables. Not
// thread-safe.
class RecoverableState {
 public:
  RecoverableState(const Scope& scope, RecoverableStateOptions options);

  // Whether all state exists: no task that holds some was lost.
  absl::StatusOr<bool> IsWhole(Session& session);
  // Restores from the newest complete checkpoint, or else runs the initializers; `restored_from` is then empty. State
  // shared by several loops is left unchanged if it is whole; if it is not, a worker gets Unavailable.
  absl::Status Establish(Session& session, std::string* restored_from);
  absl::Status Save(Session& session, int64_t step);

  bool is_saved() const { return variables_ != nullptr || positions_ != nullptr; }

 private:
  using States = std::vector<std::shared_ptr<TrainingState>>;
  static absl::Status RestoreOrInitialize(Session& session, const Saver* saver, const std::string& dir,
                                          const Operation& initialize, const States& states,
                                          std::string* restored_from);
  absl::StatusOr<bool> VariablesAreWhole(Session& session);
  static absl::StatusOr<bool> Read(Session& session, const Output& flag);
  bool shares_variables() const { return options_.role != TrainingRole::kOnly; }
  std::string positions_dir() const;

  const RecoverableStateOptions options_;
  std::unique_ptr<Saver> variables_, positions_;
  Operation initialize_, initialize_positions_;
  Output variables_whole_, positions_whole_;  // latter invalid if none, or saved with the variables
};

}  // namespace weir
