// Workers with a client, a graph and a master each go on after the loss of a task.
#include <future>

#include "absl/cleanup/cleanup.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "client/strategy/chief_hook.h"
#include "client/strategy/multi_worker_mirrored_strategy.h"
#include "client/strategy/parameter_server_strategy.h"
#include "client/training_loop.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"
#include "tests/recovery/counting_model.h"
#include "tests/recovery/faults.h"
#include "tests/strategy/training_run.h"

namespace weir {
namespace {

enum class Mode { kCollectives, kSynchronous, kAsynchronous };  // the latter two on parameter servers

constexpr int kWorkers = 2;

struct Outcome {
  int64_t global_step = 0;
  int num_recoveries = 0;
  bool was_restored = false;
  std::map<std::string, Tensor> variables;  // by name; of parameter servers: in the first worker's outcome
};

class RestoreHook : public TrainingHook {
 public:
  void Recovered(const RecoveryReport& report) override { was_restored_ |= !report.restored_from.empty(); }
  bool was_restored() const { return was_restored_; }

 private:
  bool was_restored_ = false;
};

// The others begin their steps after the first worker's first one, and wait half-way until it has recovered.
class PaceHook : public TrainingHook {
 public:
  PaceHook(bool is_first, int64_t half, absl::Notification* first_step, absl::Notification* recovered)
      : is_first_(is_first), half_(half), first_step_(first_step), recovered_(recovered) {}

  absl::Status Begin(Session&, int64_t) override {
    if (!is_first_) first_step_->WaitForNotification();
    return absl::OkStatus();
  }
  absl::StatusOr<bool> AfterStep(Session&, const StepReport& report) override {
    if (is_first_ && !first_step_->HasBeenNotified()) first_step_->Notify();
    if (!is_first_ && report.global_step >= half_) recovered_->WaitForNotification();
    return false;
  }
  void Recovered(const RecoveryReport&) override {
    if (is_first_ && !recovered_->HasBeenNotified()) recovered_->Notify();
  }

 private:
  const bool is_first_;
  const int64_t half_;
  absl::Notification* const first_step_;
  absl::Notification* const recovered_;
};

// The trainings of all workers. The first one's loop causes the fault.
class WorkersTraining {
 public:
  WorkersTraining(Mode mode, Fault fault) : mode_(mode), fault_(fault) {}

  absl::StatusOr<std::vector<Outcome>> Run() {
    ASSIGN_OR_RETURN(cluster_,
                     ProcessCluster::Start(
                         {.program = WEIR_PROGRAM, .jobs = jobs(), .flags = {"--deterministic"}, .restart = true}));
    std::vector<std::future<absl::StatusOr<Outcome>>> running;
    for (int i = 0; i < kWorkers; ++i) {
      running.push_back(std::async(std::launch::async, [this, i] {
        const absl::Cleanup end = [this, i] {
          if (i > 0) others_.DecrementCount();
          if (i == 0 && !first_step_.HasBeenNotified()) first_step_.Notify();
          if (i == 0 && !recovered_.HasBeenNotified()) recovered_.Notify();
        };
        return Train(i);
      }));
    }
    std::vector<absl::StatusOr<Outcome>> ended;
    for (auto& worker : running) ended.push_back(worker.get());
    std::vector<Outcome> outcomes;
    for (absl::StatusOr<Outcome>& worker : ended) {
      RETURN_IF_ERROR(worker.status());
      outcomes.push_back(*std::move(worker));
    }
    return outcomes;
  }

 private:
  std::map<std::string, int> jobs() const {
    if (mode_ == Mode::kCollectives) return {{"worker", kWorkers}};
    return {{"worker", kWorkers}, {"ps", 2}};
  }

  // Asynchronous workers do not wait for the first, whose loop must still have steps to make after the fault.
  int num_steps() const { return mode_ == Mode::kAsynchronous ? 20 * kSteps : kSteps; }

  // Jobs whose loss fails a step of the first worker, which then continues the task. Asynchronous workers step alone.
  std::map<std::string, int> victims() const {
    if (mode_ == Mode::kAsynchronous) return {{"ps", 2}};
    return jobs();
  }

  absl::StatusOr<std::unique_ptr<Strategy>> MakeStrategy(const Scope& root, int worker) const {
    if (mode_ == Mode::kCollectives) {
      return MultiWorkerMirroredStrategy(root, {.cluster = cluster_->spec(), .worker = worker});
    }
    return ParameterServerStrategy::Create(
        root, {.cluster = cluster_->spec(),
               .worker = worker,
               .steps = mode_ == Mode::kSynchronous ? WorkerSteps::kSynchronous : WorkerSteps::kAsynchronous});
  }

  absl::StatusOr<Training> Build(Strategy& strategy) const {
    if (mode_ == Mode::kCollectives) {
      return BuildTraining(strategy, EmbeddingLoss, [] { return AdamOptimizer(0.02); });
    }
    return BuildTraining(strategy, CountingLoss, [] { return GradientDescentOptimizer(1.0); });
  }

  TrainingRole RoleOf(int worker) const {
    if (mode_ == Mode::kCollectives) return worker == 0 ? TrainingRole::kOnly : TrainingRole::kReplica;
    return worker == 0 ? TrainingRole::kChief : TrainingRole::kWorker;
  }

  absl::StatusOr<Outcome> Train(int worker) {
    const std::string name = absl::StrCat("worker-", worker);
    const Scope root = Scope::NewRoot();
    ASSIGN_OR_RETURN(const std::unique_ptr<Strategy> strategy, MakeStrategy(root, worker));
    ASSIGN_OR_RETURN(const Training training, Build(*strategy));
    const auto fault =
        std::make_shared<FaultHook>(worker == 0 ? fault_ : Fault::kNone, cluster_.get(), victims(), 6, 14);
    const auto restores = std::make_shared<RestoreHook>();
    TrainingLoopOptions options;
    options.train = training.train;
    options.fetches = {training.losses[0]};
    options.global_step = training.global_step;
    options.feeds = [&](int64_t step) { return FeedsOfStep(*strategy, training, static_cast<int>(step)); };
    options.hooks = {fault, restores, NanHook(0)};
    if (mode_ == Mode::kAsynchronous) {
      options.hooks.push_back(std::make_shared<PaceHook>(worker == 0, num_steps() / 2, &first_step_, &recovered_));
    }
    options.max_steps = num_steps();
    options.checkpoint_dir = directory_.Path("checkpoints");
    options.checkpoint_steps = 5;
    options.recovery_timeout = absl::Seconds(60);
    options.role = RoleOf(worker);
    options.restore_after_failure = mode_ == Mode::kCollectives;
    options.task_name = name;
    options.resume = strategy->Resume();
    const auto connect = [&] {
      return Session::Connect(cluster_->Target("worker", worker), strategy->Scope(),
                              {.call_timeout = absl::Seconds(60)});
    };
    const auto* const ps = dynamic_cast<ParameterServerStrategy*>(strategy.get());
    if (ps != nullptr && !ps->chief_steps().empty()) {
      options.hooks.push_back(std::make_shared<ChiefHook>(connect, ps->chief_steps()));
    }
    TrainingLoop loop(strategy->Scope(), options);
    RETURN_IF_ERROR(strategy->Scope().status());
    ASSIGN_OR_RETURN(const auto session, connect());
    const absl::StatusOr<int64_t> reached = loop.Run(*session);
    if (!reached.ok()) return Annotate(reached.status(), absl::StrCat(name, ", ", fault->description()));
    Outcome outcome{
        .global_step = *reached, .num_recoveries = fault->num_recoveries(), .was_restored = restores->was_restored()};
    if (ps != nullptr) {
      // The others need updates to end; then there are none.
      if (worker > 0) return outcome;
      if (!recovered_.HasBeenNotified()) recovered_.Notify();
      others_.Wait();
    }
    ASSIGN_OR_RETURN(const std::vector<Tensor> values, session->Run(training.reads));
    for (size_t i = 0; i < values.size(); ++i) {
      outcome.variables[strategy->Scope().variables()[i].name()] = values[i];
    }
    return outcome;
  }

  const Mode mode_;
  const Fault fault_;
  absl::BlockingCounter others_{kWorkers - 1};  // than the first, in progress
  absl::Notification first_step_;               // of the first, or it has ended
  absl::Notification recovered_;                // the first, or it has ended
  const ScratchDirectory directory_;
  std::unique_ptr<ProcessCluster> cluster_;
};

class WorkersRecoveryTest : public testing::TestWithParam<Fault> {
 protected:
  // Trains on parameter servers.
  static void ExpectWholeUpdates(Mode mode) {
    ASSERT_OK_AND_ASSIGN(const std::vector<Outcome> outcomes, WorkersTraining(mode, GetParam()).Run());
    int recoveries = 0;
    for (const Outcome& outcome : outcomes) {
      EXPECT_GE(outcome.global_step, kSteps);
      recoveries += outcome.num_recoveries;
    }
    EXPECT_GE(recoveries, 1);
    const std::map<std::string, Tensor>& variables = outcomes[0].variables;
    const int64_t updates = variables.at("global_step").scalar<int64_t>();
    EXPECT_GE(updates, kSteps);
    // The chief saves while others update: a checkpoint may have values of several steps.
    if (!outcomes[0].was_restored) ExpectCounts(variables, updates);
  }
};

TEST_P(WorkersRecoveryTest, CollectivesEndAsATrainingWithoutLosses) {
  auto other = std::async(std::launch::async, [] { return WorkersTraining(Mode::kCollectives, Fault::kNone).Run(); });
  ASSERT_OK_AND_ASSIGN(const std::vector<Outcome> outcomes, WorkersTraining(Mode::kCollectives, GetParam()).Run());
  ASSERT_OK_AND_ASSIGN(const std::vector<Outcome> undisturbed, other.get());
  EXPECT_GE(outcomes[0].num_recoveries, 1);
  for (int i = 0; i < kWorkers; ++i) {
    EXPECT_EQ(undisturbed[i].num_recoveries, 0);
    EXPECT_EQ(outcomes[i].global_step, kSteps);
    ASSERT_EQ(outcomes[i].variables.size(), undisturbed[i].variables.size());
    for (const auto& [name, value] : undisturbed[i].variables) {
      ASSERT_TRUE(outcomes[i].variables.contains(name)) << name;
      ExpectTensorEqual(outcomes[i].variables.at(name), value, absl::StrCat("worker ", i, ", ", name));
    }
  }
}

TEST_P(WorkersRecoveryTest, SynchronousUpdatesAreWhole) { ExpectWholeUpdates(Mode::kSynchronous); }

TEST_P(WorkersRecoveryTest, AsynchronousUpdatesAreWhole) { ExpectWholeUpdates(Mode::kAsynchronous); }

INSTANTIATE_TEST_SUITE_P(Faults, WorkersRecoveryTest, testing::Values(Fault::kKill, Fault::kStop, Fault::kKillMaster),
                         [](const auto& info) { return FaultName(info.param); });

}  // namespace
}  // namespace weir
