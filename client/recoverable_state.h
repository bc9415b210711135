// What a training loop must not lose: variables, and positions in the input.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/saver.h"
#include "client/session.h"
#include "client/training_state.h"

namespace weir {

// Whose the variables are.
enum class TrainingRole {
  kOnly,    // this loop's alone
  kChief,   // other loops' too, in processes of their own; this one initialises, restores and saves them
  kWorker,  // the chief's: this loop waits until the chief has made them whole
};

struct RecoverableStateOptions {
  TrainingRole role = TrainingRole::kOnly;
  std::string checkpoint_dir;  // empty: nothing is saved
  int max_to_keep = 5;
  std::vector<Saveable> saveables;
  std::vector<std::shared_ptr<TrainingState>> states;  // kept together with the variables
  // Where a chief or a worker keeps its own saveables: "<checkpoint_dir>/input/<name>".
  std::string name;
};

// Adds ops to a graph that initialise, save and restore. A loop that has the variables alone keeps its saveables with
// them in one checkpoint, so that both are of one step. With a chief and workers the saveables are each loop's own.
// Not thread-safe.
class RecoverableState {
 public:
  RecoverableState(const Scope& scope, RecoverableStateOptions options);

  // Whether all of it is there: no task that holds some was lost.
  absl::StatusOr<bool> IsWhole(Session& session);
  // From the newest complete checkpoint, or else from the initializers; `restored_from` is then empty. What belongs to
  // several loops and is whole stays as it is. Unavailable for a worker while it is not.
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
  Output variables_whole_, positions_whole_;  // the latter invalid where there are none, or they go with the variables
};

}  // namespace weir
