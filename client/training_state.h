// What a training has beside variables.
#pragma once

#include <string>

#include "client/session.h"
#include "core/status.h"

namespace weir {

// State on tasks that a training loop keeps together with the variables. Not thread-safe; blocks.
class TrainingState {
 public:
  virtual ~TrainingState() = default;
  virtual absl::Status Initialize(Session& session) = 0;
  // Whether no task has lost its part.
  virtual absl::StatusOr<bool> IsWhole(Session& session) = 0;
  // Saves what belongs to the checkpoint of the variables that is written next, "dir/model.ckpt-100".
  virtual absl::Status Save(Session& session, const std::string& checkpoint) = 0;
  virtual absl::Status Restore(Session& session, const std::string& checkpoint) = 0;
};

}  // namespace weir
