// Evaluates checkpoints as they are written.
#pragma once

#include <memory>
#include <string>

#include "client/estimator/train_and_evaluate.h"
#include "core/api.h"
#include "core/files/file_system.h"

namespace WEIR_API weir {

class EventLog;
class TrainingEndWatcher;

// Not thread-safe. The estimator and the spec outlive it.
class CheckpointEvaluator {
 public:
  CheckpointEvaluator(const Estimator& estimator, const EvalSpec& spec) : estimator_(estimator), spec_(spec) {}

  // Evaluates the newest checkpoint if it is new, writes events and runs the exporters. False if there was nothing new,
  // or if the trainer deleted it in the meantime. A checkpoint deleted after its evaluation is not exported.
  absl::StatusOr<bool> EvaluateNewest();
  // Calls EvaluateNewest for each new checkpoint until one of `last_step`, or the last one of a training that has
  // ended, was evaluated. Unavailable if none arrives in time.
  absl::Status Follow(int64_t last_step, TrainingEndWatcher& end);

 private:
  void Write(const Evaluation& evaluation);
  absl::Status RunExporters(const std::string& checkpoint, const Evaluation& evaluation);

  const Estimator& estimator_;
  const EvalSpec& spec_;
  const std::shared_ptr<FileSystemRegistry> files_ = FileSystemRegistry::Default();
  std::shared_ptr<EventLog> events_;
  std::string evaluated_;
  int64_t evaluated_step_ = -1;  // global step of the last evaluation
};

}  // namespace weir
