// Hooks of a training loop: summaries for TensorBoard, profiles of steps, and validation.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/scope.h"
#include "client/session.h"
#include "client/training_hook.h"
#include "core/api.h"
#include "core/files/file_system.h"
#include "core/status.h"

namespace WEIR_API weir {

// All of these act every `every` steps, at least 1, by the global step. What they read in a step of their own they read
// between the loop's steps. If that fails because a task was lost, they log a warning and skip it; the loop then
// recovers. If their files cannot be written, they log a warning and try again later, in a new file. Other errors end
// the loop. Of several processes that train the same variables, only the chief (or the only one, worker 0 of those that
// step together) writes files, unless `every_task`.

struct ScalarSummary {
  std::string tag;
  int fetch = 0;  // index among the loop's fetches: a number
};
struct HistogramSummary {
  std::string tag;
  Output value;  // read in a step without feeds: a variable's value()
};
struct ImageSummary {
  std::string tag;
  Output value;  // [batch, height, width, depth], computed in the loop's steps that are due
  int64_t max_images = 3;
};

// The form in which values are written; TensorBoard shows both alike.
enum class SummaryFormat {
  kValues,   // as TensorFlow 1 and its estimators do
  kTensors,  // as tf.summary of TensorFlow 2 does
};

struct SummaryHookOptions {
  std::string directory;  // of the event files; created if needed
  int64_t every = 100;
  std::vector<ScalarSummary> scalars;
  std::vector<HistogramSummary> histograms;
  std::vector<ImageSummary> images;
  // Outputs of ops::ScalarSummary, ops::AudioSummaryV2, ops::MergeSummary …, computed in the loop's steps that are due.
  std::vector<Output> summaries;
  bool steps_per_second = true;  // as the scalar "global_step/sec"
  // The graph is written when the loop begins, without large constants. The statistics of traced steps (ProfileHook) go
  // with it, as the run metadata "step N".
  std::optional<Scope> graph;
  // For the HPARAMS page, where a training that failed stays one that runs: only a successful end is written.
  std::map<std::string, double> hyper_parameters;
  SummaryFormat format = SummaryFormat::kValues;
  bool every_task = false;  // tasks then need directories of their own
  std::shared_ptr<FileSystemRegistry> files = FileSystemRegistry::Default();
};
// Writes TensorBoard events.
std::unique_ptr<TrainingHook> SummaryHook(SummaryHookOptions options);

struct ProfileHookOptions {
  std::string directory;  // created if needed
  int64_t every = 1000;
  bool every_task = false;  // as in SummaryHookOptions
  std::shared_ptr<FileSystemRegistry> files = FileSystemRegistry::Default();
};
// Traces one step in `every`, on all of its tasks. A traced step is slower. Writes it
// - as "timeline-STEP.json", which chrome://tracing and Perfetto show: a process for each device, and when each op ran;
// - as "plugins/profile/step-STEP/TASK.xplane.pb" for TensorBoard's profile plug-in.
std::unique_ptr<TrainingHook> ProfileHook(ProfileHookOptions options);

using EvaluationResult = std::map<std::string, double>;  // by the names of metrics

struct EvaluationHookOptions {
  int64_t every = 1000;
  // Runs the evaluation: resets metrics, feeds or reads the validation data, returns the metrics' values.
  std::function<absl::StatusOr<EvaluationResult>(Session& session, int64_t global_step)> evaluate;
  // Called with the result. True stops the loop.
  std::function<absl::StatusOr<bool>(int64_t global_step, const EvaluationResult& result)> report;
  bool at_end = true;     // evaluates once more when the loop ends, unless the last step was evaluated
  std::string directory;  // of TensorBoard events, not that of a SummaryHook: "logs/eval"; empty: none
  std::shared_ptr<FileSystemRegistry> files = FileSystemRegistry::Default();
};
std::unique_ptr<TrainingHook> EvaluationHook(EvaluationHookOptions options);

}  // namespace weir
