#include "client/estimator/train_and_evaluate.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "client/estimator/checkpoint_evaluator.h"
#include "client/estimator/training_end.h"
#include "client/estimator/training_graph.h"
#include "client/strategy/training_tasks.h"
#include "core/clock.h"
#include "core/logging.h"
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

// For a chief that does not answer after its last checkpoint; a supervisor may restart it.
constexpr absl::Duration kChiefPatience = absl::Seconds(30);
constexpr int kFewestProbes = 3;

bool Answers(const std::string& address) {
  GrpcChannel channel({.address = address}, nullptr);
  ::grpc::health::v1::HealthCheckResponse response;
  return channel
      .CallMessage("/grpc.health.v1.Health/Check", {.deadline = MonotonicNow() + absl::Seconds(5)},
                   ::grpc::health::v1::HealthCheckRequest(), &response)
      .ok();
}

// How long the chief of a training that may have ended has not answered.
class ChiefProbe {
 public:
  explicit ChiefProbe(std::string address) : address_(std::move(address)) {}

  void Reset() {
    failures_ = 0;
    last_answer_ = MonotonicNow();
  }
  // Probes once.
  bool IsGone(absl::Duration patience) {
    if (Answers(address_)) {
      Reset();
    } else {
      ++failures_;
    }
    return failures_ >= kFewestProbes && MonotonicNow() - last_answer_ > patience;
  }

 private:
  const std::string address_;
  int failures_ = 0;
  absl::Time last_answer_ = MonotonicNow();
};

// While the chief trains, runs its last hooks, or is being restarted.
absl::Status ServeUntilTrained(const Estimator& estimator, int64_t max_steps, TrainingEndWatcher& end) {
  const RunConfig& config = estimator.config();
  ASSIGN_OR_RETURN(const std::string address, ChiefAddress(config.task.cluster));
  ChiefProbe chief(address);
  std::string last_error;
  while (true) {
    const absl::StatusOr<int64_t> saved = estimator.SavedStep();
    const bool last_step_saved = saved.ok() && *saved >= max_steps;
    const absl::StatusOr<bool> ended = end.HasEnded(last_step_saved);
    if (ended.ok() && *ended) return absl::OkStatus();
    const absl::Status status = ended.ok() ? saved.status() : ended.status();
    if (!status.ok() && !absl::IsNotFound(status) && status.message() != last_error) {
      last_error = std::string(status.message());
      WEIR_LOG(WARNING) << "Serving on, although the training's end cannot be detected: " << status.message();
    }
    if (!last_step_saved && !end.may_have_ended()) {
      chief.Reset();
    } else if (chief.IsGone(last_step_saved ? kChiefPatience : std::max(kChiefPatience, config.recovery_timeout))) {
      WEIR_LOG(WARNING) << "The chief at " << address << " is gone, and the training seems to have ended";
      return absl::OkStatus();
    }
    absl::SleepFor(config.evaluator_poll);
  }
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
  TrainingEndWatcher end(config.model_dir);
  if (role == "evaluator") return CheckpointEvaluator(estimator, eval).Follow(train.options.max_steps, end);
  if (role != "chief" && role != "master" && role != "worker" && role != "ps") {
    return errors::InvalidArgument("Unknown role '", role, "'; expected chief, master, worker, ps or evaluator");
  }
  if (!config.start_server) return errors::InvalidArgument("A task of a cluster needs RunConfig::start_server");
  const bool is_chief = config.task.IsChief();
  if (is_chief) RETURN_IF_ERROR(ClearTrainingEnd(config.model_dir));
  ASSIGN_OR_RETURN(const std::shared_ptr<void> server, config.start_server(config.task));
  TrainingMode mode = TrainingMode::kDrivenByChief;
  if (role != "ps") {
    ASSIGN_OR_RETURN(mode, TrainingModeOf(config));
  }
  const bool only_serves = role == "ps" || (mode == TrainingMode::kDrivenByChief && !is_chief);
  if (only_serves && config.train_distribute) return ServeUntilTrained(estimator, train.options.max_steps, end);
  if (only_serves) return RunServer(config);
  ASSIGN_OR_RETURN(const int64_t reached, estimator.Train(train.input, train.options));
  return is_chief ? RecordTrainingEnd(config.model_dir, reached) : absl::OkStatus();
}

}  // namespace weir
