// Training state besides variables.
#pragma once

#include <string>

#include "client/session.h"
#include "core/status.h"

namespace weir {

// State on tasks that a training loop saves and restores together with the variables. Not thread-safe; blocks.
class TrainingState {
 public:
  virtual ~TrainingState() = default;
  virtual absl::Status Initialize(Session& session) = 0;
  // Whether no task has lost its part.
  virtual absl::StatusOr<bool> IsWhole(Session& session) = 0;
  // Saves the state for the next checkpoint of the variables, "dir/model.ckpt-100".
  virtual absl::Status Save(Session& session, const std::string& checkpoint) = 0;
  virtual absl::Status Restore(Session& session, const std::string& checkpoint) = 0;
};

}  // namespace weir
