// Hooks of a training loop: summaries for TensorBoard, profiles of steps, and validation.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/session.h"
#include "client/training_hook.h"
#include "core/api.h"
#include "core/files/file_system.h"
#include "core/status.h"

namespace WEIR_API weir {

// All of these act every `every` steps, at least 1, by the global step. What they read in a step of their own they read
// between the loop's steps. If that fails because a task was lost, they log a warning and skip it; the loop then
// recovers. Other errors end the loop.

struct ScalarSummary {
  std::string tag;
  int fetch = 0;  // index among the loop's fetches: a number
};
struct HistogramSummary {
  std::string tag;
  Output value;  // read in a step without feeds: a variable's value()
};

struct SummaryHookOptions {
  std::string directory;  // of the event files; created if needed
  int64_t every = 100;
  std::vector<ScalarSummary> scalars;
  std::vector<HistogramSummary> histograms;
  bool steps_per_second = true;  // as the scalar "global_step/sec"
  std::shared_ptr<FileSystemRegistry> files = FileSystemRegistry::Default();
};
// Writes TensorBoard events.
std::unique_ptr<TrainingHook> SummaryHook(SummaryHookOptions options);

struct ProfileHookOptions {
  std::string directory;  // created if needed
  int64_t every = 1000;
  std::shared_ptr<FileSystemRegistry> files = FileSystemRegistry::Default();
};
// Traces one step in `every` and writes it as "timeline-STEP.json", which chrome://tracing and Perfetto show: a
// process for each device, and when each op ran. A traced step is slower.
std::unique_ptr<TrainingHook> ProfileHook(ProfileHookOptions options);

using EvaluationResult = std::map<std::string, double>;  // by the names of metrics

struct EvaluationHookOptions {
  int64_t every = 1000;
  // Runs the evaluation: resets metrics, feeds or reads the validation data, returns the metrics' values.
  std::function<absl::StatusOr<EvaluationResult>(Session& session, int64_t global_step)> evaluate;
  // Called with the result. True stops the loop.
  std::function<absl::StatusOr<bool>(int64_t global_step, const EvaluationResult& result)> report;
  bool at_end = true;     // evaluates once more when the loop ends, unless the last step was evaluated
  std::string directory;  // of TensorBoard events; empty: none
  std::shared_ptr<FileSystemRegistry> files = FileSystemRegistry::Default();
};
std::unique_ptr<TrainingHook> EvaluationHook(EvaluationHookOptions options);

}  // namespace weir
