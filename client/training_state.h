// The state that a training loop keeps: its owner, and what it has besides variables.
#pragma once

#include <string>
#include <vector>

#include "client/session.h"
#include "core/api.h"
#include "core/status.h"

namespace WEIR_API weir {

class CheckpointLease;

// The ownership of the variables.
enum class TrainingRole {
  kOnly,    // only this loop uses them
  kChief,   // shared with loops in other processes; this one initialises, restores and saves them
  kWorker,  // the chief's: this loop waits until the chief has initialised or restored them
  // Copies of another loop's, which TrainingLoopOptions::resume makes equal to those. This loop restores them from the
  // other one's checkpoints, and saves none.
  kReplica,
};

// State on tasks that a training loop saves and restores together with the variables. Not thread-safe; blocks.
class TrainingState {
 public:
  virtual ~TrainingState() = default;
  virtual absl::Status Initialize(Session& session) = 0;
  // Whether no task has lost its part.
  virtual absl::StatusOr<bool> IsWhole(Session& session) = 0;
  // Saves the state for the next checkpoint of the variables, "dir/model.ckpt-100". Changes no final file, and deletes
  // none, without the lease of "dir" (null: there is none).
  virtual absl::Status Save(Session& session, const std::string& checkpoint, const CheckpointLease* lease) = 0;
  // The saved files: prefixes of the checkpoints that hold this state for `checkpoint`.
  virtual absl::StatusOr<std::vector<std::string>> SavedAs(const std::string& checkpoint) = 0;
  virtual absl::Status Restore(Session& session, const std::string& checkpoint) = 0;
};

}  // namespace weir
