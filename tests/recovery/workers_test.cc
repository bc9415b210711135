// Workers that have a client, a graph and a master each go on after the loss of a task.
#include "client/strategy/chief_thread.h"
#include "client/strategy/multi_worker_mirrored_strategy.h"
#include "client/strategy/parameter_server_strategy.h"
#include "client/training_loop.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"
#include "tests/recovery/faults.h"
#include "tests/strategy/training_run.h"

namespace weir {
namespace {

enum class Mode { kCollectives, kSynchronous, kAsynchronous };
const char* const kModeNames[] = {"Collectives", "Synchronous", "Asynchronous"};

constexpr int kWorkers = 2;

struct Outcome {
  int64_t global_step = 0;
  int num_recoveries = 0;
  std::map<std::string, Tensor> variables;
};

// The trainings of all workers; the fault is in the hands of the first one's loop.
class WorkersTraining {
 public:
  WorkersTraining(Mode mode, Fault fault) : mode_(mode), fault_(fault) {}

  absl::StatusOr<std::vector<Outcome>> Run() {
    ASSIGN_OR_RETURN(cluster_,
                     ProcessCluster::Start(
                         {.program = WEIR_PROGRAM, .jobs = jobs(), .flags = {"--deterministic"}, .restart = true}));
    std::vector<std::future<absl::StatusOr<Outcome>>> running;
    for (int i = 0; i < kWorkers; ++i) {
      running.push_back(std::async(std::launch::async, [this, i] { return Train(i); }));
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

  absl::StatusOr<std::unique_ptr<Strategy>> MakeStrategy(const Scope& root, int worker) const {
    if (mode_ == Mode::kCollectives) {
      return MultiWorkerMirroredStrategy(root, {.cluster = cluster_->spec(), .worker = worker});
    }
    return ParameterServerStrategy::Create(
        root, {.cluster = cluster_->spec(),
               .worker = worker,
               .steps = mode_ == Mode::kSynchronous ? WorkerSteps::kSynchronous : WorkerSteps::kAsynchronous});
  }

  absl::StatusOr<Outcome> Train(int worker) {
    const std::string name = absl::StrCat("worker-", worker);
    const Scope root = Scope::NewRoot();
    ASSIGN_OR_RETURN(const std::unique_ptr<Strategy> strategy, MakeStrategy(root, worker));
    ASSIGN_OR_RETURN(const Training training,
                     BuildTraining(*strategy, EmbeddingLoss, [] { return AdamOptimizer(0.02); }));
    const auto hook = std::make_shared<FaultHook>(worker == 0 ? fault_ : Fault::kNone, cluster_.get(), jobs(), 6, 14);
    TrainingLoopOptions options;
    options.train = training.train;
    options.global_step = training.global_step;
    options.feeds = [&](int64_t step) { return FeedsOfStep(*strategy, training, static_cast<int>(step)); };
    options.hooks = {hook};
    options.max_steps = kSteps;
    options.checkpoint_steps = 5;
    options.recovery_timeout = absl::Seconds(60);
    options.task_name = name;
    const auto* const ps = dynamic_cast<ParameterServerStrategy*>(strategy.get());
    if (ps == nullptr) {
      options.checkpoint_dir = directory_.Path(name);  // each worker has its own copy
    } else {
      options.checkpoint_dir = directory_.Path("checkpoints");
      options.role = worker == 0 ? TrainingRole::kChief : TrainingRole::kWorker;
    }
    options.resume = strategy->Resume();
    TrainingLoop loop(strategy->Scope(), options);
    RETURN_IF_ERROR(strategy->Scope().status());
    // Steps that wait for the others end when these have recovered.
    ASSIGN_OR_RETURN(const auto session, Session::Connect(cluster_->Target("worker", worker), strategy->Scope(),
                                                          {.call_timeout = absl::Seconds(20)}));
    ASSIGN_OR_RETURN(const auto updates, Session::Connect(cluster_->Target("worker", worker), strategy->Scope()));
    std::optional<ChiefThread> chief;
    if (ps != nullptr && ps->update().valid()) chief.emplace(updates.get(), ps->update());
    const absl::StatusOr<int64_t> reached = loop.Run(*session);
    if (!reached.ok()) return Annotate(reached.status(), absl::StrCat(name, ", ", hook->description()));
    Outcome outcome{.global_step = *reached, .num_recoveries = hook->num_recoveries()};
    if (mode_ != Mode::kCollectives) return outcome;
    ASSIGN_OR_RETURN(const std::vector<Tensor> values, session->Run(training.reads));
    for (size_t i = 0; i < values.size(); ++i) {
      outcome.variables[strategy->Scope().variables()[i].name()] = values[i];
    }
    return outcome;
  }

  const Mode mode_;
  const Fault fault_;
  const ScratchDirectory directory_;
  std::unique_ptr<ProcessCluster> cluster_;
};

class WorkersRecoveryTest : public testing::TestWithParam<std::tuple<Mode, Fault>> {};

TEST_P(WorkersRecoveryTest, TrainToTheEnd) {
  const auto [mode, fault] = GetParam();
  ASSERT_OK_AND_ASSIGN(const std::vector<Outcome> outcomes, WorkersTraining(mode, fault).Run());
  int recoveries = 0;
  for (const Outcome& outcome : outcomes) {
    EXPECT_GE(outcome.global_step, kSteps);
    recoveries += outcome.num_recoveries;
  }
  EXPECT_GE(recoveries, 1);
  if (mode != Mode::kCollectives) return;
  ASSERT_OK_AND_ASSIGN(const std::vector<Outcome> undisturbed, WorkersTraining(mode, Fault::kNone).Run());
  for (int i = 0; i < kWorkers; ++i) {
    EXPECT_EQ(outcomes[i].global_step, kSteps);
    for (const auto& [name, value] : undisturbed[i].variables) {
      ExpectTensorEqual(outcomes[i].variables.at(name), value, name);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, WorkersRecoveryTest,
                         testing::Combine(testing::Values(Mode::kCollectives, Mode::kSynchronous, Mode::kAsynchronous),
                                          testing::Values(Fault::kKill, Fault::kStop, Fault::kKillMaster)),
                         [](const auto& info) {
                           return absl::StrCat(kModeNames[static_cast<int>(std::get<0>(info.param))], "_",
                                               FaultName(std::get<1>(info.param)));
                         });

}  // namespace
}  // namespace weir
