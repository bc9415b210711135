// The entry point of all processes of a training cluster.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "client/estimator/estimator.h"
#include "client/estimator/exporter.h"
#include "core/api.h"

namespace WEIR_API weir {

struct TrainSpec {
  InputFunction input;
  TrainOptions options;  // max_steps is required: the evaluator ends when it is reached
};

struct EvalSpec {
  InputFunction input;
  int64_t steps = 100;  // batches; 0: until the input ends
  std::vector<std::shared_ptr<Exporter>> exporters;
  std::function<void(const Evaluation& evaluation)> report;  // optional; called after each evaluation
};

// Runs this process's task, according to config().task (from TF_CONFIG, say):
//   chief     serves, trains, and saves checkpoints; worker 0 if there is no chief
//   worker    serves and trains; or, if the chief drives all replicas (RunConfig::train_distribute), serves until the
//             chief's training has ended
//   ps        serves and holds variables: with a strategy as long as such a worker, otherwise until await_stop returns
//   evaluator evaluates each checkpoint that it finds, until one has max_steps or the chief's training has ended
//   none      trains, and evaluates each checkpoint
// The chief's summaries and the graph are TensorBoard events in log_dir (by default model_dir), evaluations in
// "<log_dir>/eval"; exports go to "<model_dir>/export/<exporter>". A restarted process continues with the cluster's
// state; lost parameters are restored from the newest checkpoint. Blocks until the task is done.
// The chief's training ends at max_steps, at the end of a finite input, or by a hook. It then writes
// "<model_dir>/training.done", which the other tasks poll; the next run removes the file. They also end if the last
// step is saved and the chief does not answer for 30 seconds.
absl::Status TrainAndEvaluate(const Estimator& estimator, const TrainSpec& train, const EvalSpec& eval);

}  // namespace weir
