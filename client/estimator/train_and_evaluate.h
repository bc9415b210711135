// One call that every process of a training cluster makes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "client/estimator/estimator.h"
#include "client/estimator/exporter.h"

namespace weir {

struct TrainSpec {
  InputFunction input;
  TrainOptions options;  // max_steps is needed: it tells the evaluator when to end
};

struct EvalSpec {
  InputFunction input;
  int64_t steps = 100;  // batches; 0: until the input ends
  std::vector<std::shared_ptr<Exporter>> exporters;
  std::function<void(const Evaluation& evaluation)> report;  // optional: of each evaluation
};

// Does what the process's task is to do, as config().task says (from TF_CONFIG, say):
//   chief     serves, trains, and saves checkpoints; worker 0 where there is no chief
//   worker    serves and trains
//   ps        serves, holds variables, until the process is asked to end
//   evaluator evaluates each checkpoint that it finds, until one has max_steps
//   none      trains, evaluating each checkpoint on the way
// Evaluations go as TensorBoard events into "<model_dir>/eval", exports to "<model_dir>/export/<exporter>". A process
// that was killed and is started again goes on where the cluster is; parameters that were lost come back from the
// newest checkpoint. Blocks until its part is done.
absl::Status TrainAndEvaluate(const Estimator& estimator, const TrainSpec& train, const EvalSpec& eval);

}  // namespace weir
