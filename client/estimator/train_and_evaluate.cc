#include "client/estimator/train_and_evaluate.h"

#include "absl/time/clock.h"
#include "client/estimator/checkpoint_evaluator.h"
#include "client/estimator/training_graph.h"
#include "core/clock.h"
#include "distribute/transport/grpc_channel.h"
#include "grpc/health/v1/health.pb.h"

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

// For a chief that has saved its last checkpoint to close its session and end.
constexpr absl::Duration kChiefPatience = absl::Seconds(30);

absl::StatusOr<std::string> ChiefAddress(const ClusterSpec& cluster) {
  for (const char* job : {"chief", "master"}) {
    if (TasksOf(cluster, job) > 0) return cluster.AddressOf(job, 0);
  }
  return cluster.AddressOf("worker", 0);
}

bool Answers(const std::string& address) {
  GrpcChannel channel({.address = address}, nullptr);
  ::grpc::health::v1::HealthCheckResponse response;
  return channel
      .CallMessage("/grpc.health.v1.Health/Check", {.deadline = MonotonicNow() + absl::Seconds(5)},
                   ::grpc::health::v1::HealthCheckRequest(), &response)
      .ok();
}

// While the chief trains; it may end and start again.
absl::Status ServeUntilTrained(const Estimator& estimator, int64_t max_steps) {
  const RunConfig& config = estimator.config();
  ASSIGN_OR_RETURN(const std::string chief, ChiefAddress(config.task.cluster));
  while (true) {
    // A checkpoint may be deleted while it is read.
    if (estimator.SavedStep().value_or(-1) >= max_steps) break;
    absl::SleepFor(config.evaluator_poll);
  }
  const absl::Time deadline = MonotonicNow() + kChiefPatience;
  while (MonotonicNow() < deadline && Answers(chief)) absl::SleepFor(config.evaluator_poll);
  return absl::OkStatus();
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
  TrainingMode mode = TrainingMode::kDrivenByChief;
  if (role != "ps") {
    ASSIGN_OR_RETURN(mode, TrainingModeOf(config));
  }
  const bool only_serves = role == "ps" || (mode == TrainingMode::kDrivenByChief && !config.task.IsChief());
  if (only_serves && config.train_distribute) return ServeUntilTrained(estimator, train.options.max_steps);
  if (only_serves) return RunServer(config);
  return estimator.Train(train.input, train.options).status();
}

}  // namespace weir
