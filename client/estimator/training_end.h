// The record of a training's end, in the model's directory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/status.h"

namespace weir {

// Written by the chief after its last hook, so that tasks that serve or evaluate end too. No two records are equal.
absl::Status RecordTrainingEnd(const std::string& model_dir, int64_t step);
// Removes the record of an earlier run. The chief calls it before it trains.
absl::Status ClearTrainingEnd(const std::string& model_dir);

// Distinguishes the record of the run that it observes from that of an earlier run. Not thread-safe.
class TrainingEndWatcher {
 public:
  // A record that exists already is an earlier run's, unless this task was restarted after the end.
  explicit TrainingEndWatcher(std::string model_dir);

  // `last_step_saved`: there is a checkpoint of the last step. With it, any record counts: a chief that still trains
  // has removed the old one.
  absl::StatusOr<bool> HasEnded(bool last_step_saved);
  // Whether there is a record that may be this run's.
  bool may_have_ended() const { return old_.has_value() && !old_->empty(); }

 private:
  absl::StatusOr<std::string> Read() const;

  const std::string model_dir_;
  std::optional<std::string> old_;  // empty: there was none, or the chief has removed it
};

}  // namespace weir
