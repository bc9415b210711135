#include "client/estimator/train_and_evaluate.h"

#include "client/estimator/checkpoint_evaluator.h"

namespace weir {
namespace {

// Evaluates each checkpoint when it is written.
class EvaluateHook : public TrainingHook {
 public:
  explicit EvaluateHook(CheckpointEvaluator* evaluator) : evaluator_(evaluator) {}
  absl::Status AfterSave(Session&, int64_t) override { return evaluator_->EvaluateNewest().status(); }

 private:
  CheckpointEvaluator* const evaluator_;
};

absl::Status RunAlone(const Estimator& estimator, const TrainSpec& train, const EvalSpec& eval) {
  CheckpointEvaluator evaluator(estimator, eval);
  TrainOptions options = train.options;
  options.hooks.push_back(std::make_shared<EvaluateHook>(&evaluator));
  RETURN_IF_ERROR(estimator.Train(train.input, options).status());
  return evaluator.EvaluateNewest().status();
}

absl::Status RunServer(const RunConfig& config) {
  if (!config.await_stop) return errors::InvalidArgument("A parameter server needs RunConfig::await_stop");
  config.await_stop();
  return absl::OkStatus();
}

}  // namespace

absl::Status TrainAndEvaluate(const Estimator& estimator, const TrainSpec& train, const EvalSpec& eval) {
  const RunConfig& config = estimator.config();
  if (config.model_dir.empty()) return errors::InvalidArgument("RunConfig::model_dir is empty");
  if (train.options.max_steps <= 0) {
    return errors::InvalidArgument("TrainSpec::options.max_steps is ", train.options.max_steps,
                                   "; an evaluator would not know when training ends");
  }
  if (!config.is_distributed()) return RunAlone(estimator, train, eval);
  const std::string& role = config.task.task_type;
  if (role == "evaluator") return CheckpointEvaluator(estimator, eval).Follow(train.options.max_steps);
  if (role != "chief" && role != "master" && role != "worker" && role != "ps") {
    return errors::InvalidArgument("Unknown role '", role, "'; expected chief, master, worker, ps or evaluator");
  }
  if (!config.start_server) return errors::InvalidArgument("A task of a cluster needs RunConfig::start_server");
  ASSIGN_OR_RETURN(const std::shared_ptr<void> server, config.start_server(config.task));
  if (role == "ps") return RunServer(config);
  return estimator.Train(train.input, train.options).status();
}

}  // namespace weir
