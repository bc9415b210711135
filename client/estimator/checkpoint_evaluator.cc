#include "client/estimator/checkpoint_evaluator.h"

#include "absl/time/clock.h"
#include "client/estimator/training_end.h"
#include "client/training/hook_parts.h"
#include "core/clock.h"
#include "kernels/summary/summary_values.h"
#include "tensorflow/core/framework/summary.pb.h"
#include "tensorflow/core/util/event.pb.h"

namespace weir {
absl::StatusOr<bool> CheckpointEvaluator::EvaluateNewest() {
  const absl::StatusOr<std::string> newest = estimator_.LatestCheckpoint();
  if (absl::IsNotFound(newest.status())) return false;
  RETURN_IF_ERROR(newest.status());
  if (*newest == evaluated_) return false;
  const absl::StatusOr<Evaluation> evaluation =
      estimator_.Evaluate(spec_.input, {.steps = spec_.steps, .checkpoint = *newest});
  // The trainer deletes old checkpoints; the next attempt finds a newer one.
  const auto was_deleted = [&](const absl::Status& status) {
    return absl::IsNotFound(status) && estimator_.LatestCheckpoint().value_or("") != *newest;
  };
  if (was_deleted(evaluation.status())) return false;
  RETURN_IF_ERROR(evaluation.status());
  Write(*evaluation);
  const absl::Status exported = RunExporters(*newest, *evaluation);
  if (!was_deleted(exported)) RETURN_IF_ERROR(exported);
  evaluated_ = *newest;
  evaluated_step_ = evaluation->global_step;
  if (spec_.report) spec_.report(*evaluation);
  return true;
}

absl::Status CheckpointEvaluator::Follow(int64_t last_step, TrainingEndWatcher& end) {
  const RunConfig& config = estimator_.config();
  absl::Time deadline = MonotonicNow() + config.evaluator_patience;
  while (evaluated_step_ < last_step) {
    // Before the search, which then finds the last checkpoint.
    ASSIGN_OR_RETURN(const bool ended, end.HasEnded(false));
    ASSIGN_OR_RETURN(const bool evaluated, EvaluateNewest());
    if (evaluated) {
      deadline = MonotonicNow() + config.evaluator_patience;
      continue;
    }
    if (ended) return absl::OkStatus();
    if (MonotonicNow() > deadline) {
      return errors::Unavailable("No new checkpoint in ", config.model_dir, " for ",
                                 absl::FormatDuration(config.evaluator_patience), "; the last evaluated is of step ",
                                 evaluated_step_, " of ", last_step);
    }
    absl::SleepFor(config.evaluator_poll);
  }
  return absl::OkStatus();
}

void CheckpointEvaluator::Write(const Evaluation& evaluation) {
  if (events_ == nullptr) {
    events_ = std::make_shared<EventLog>(JoinPath(estimator_.config().log_directory(), "eval"), files_);
  }
  tensorflow::Event event;
  event.set_step(evaluation.global_step);
  for (const auto& [name, value] : evaluation.values) AddScalar(name, value, event.mutable_summary());
  events_->Write(&event);
}

absl::Status CheckpointEvaluator::RunExporters(const std::string& checkpoint, const Evaluation& evaluation) {
  for (const auto& exporter : spec_.exporters) {
    const std::string base = JoinPath(estimator_.config().model_dir, absl::StrCat("export/", exporter->name()));
    RETURN_IF_ERROR(exporter->Export(estimator_, base, checkpoint, evaluation).status());
  }
  return absl::OkStatus();
}

}  // namespace weir
