// Evaluates checkpoints as they come.
#pragma once

#include <memory>
#include <string>

#include "client/estimator/train_and_evaluate.h"
#include "core/file_system.h"
#include "kernels/summary/event_writer.h"

namespace weir {

// Not thread-safe. The estimator and the spec outlive it.
class CheckpointEvaluator {
 public:
  CheckpointEvaluator(const Estimator& estimator, const EvalSpec& spec) : estimator_(estimator), spec_(spec) {}

  // Evaluates the newest checkpoint unless it has done so already, writes the events and runs the exporters. False when
  // there was nothing new, or the trainer deleted it meanwhile; deleted after its evaluation it is not exported.
  absl::StatusOr<bool> EvaluateNewest();
  // The global step of the last evaluation; -1 before the first.
  int64_t evaluated_step() const { return evaluated_step_; }
  // EvaluateNewest whenever there is a new one, until one of `last_step` was evaluated. Unavailable when none came in
  // time.
  absl::Status Follow(int64_t last_step);

 private:
  absl::Status Write(const Evaluation& evaluation);
  absl::Status RunExporters(const std::string& checkpoint, const Evaluation& evaluation);

  const Estimator& estimator_;
  const EvalSpec& spec_;
  const std::shared_ptr<FileSystemRegistry> files_ = FileSystemRegistry::Default();
  std::shared_ptr<EventWriter> events_;
  std::string evaluated_;
  int64_t evaluated_step_ = -1;
};

}  // namespace weir
