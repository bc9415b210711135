// A loop that reads its input in its steps, saves in the background and evaluates its checkpoints goes on after the
// loss of any task: it sees each example once, and its checkpoints and variables are those of a training that lost
// none.
#include <future>

#include "client/data/dataset.h"
#include "client/layers.h"
#include "client/ops.h"
#include "client/saver.h"
#include "client/strategy/mirrored_strategy.h"
#include "client/strategy/parameter_server_strategy.h"
#include "client/training_loop.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"
#include "tests/recovery/faults.h"
#include "tests/strategy/training_run.h"

namespace weir {
namespace {

constexpr int kWorkers = 2, kBatch = 6;
const std::map<std::string, int> kTasks = {{"ps", 2}, {"worker", kWorkers}};

// Shuffled numbers for each worker; a number is an id and determines its target.
struct NumberInput {
  explicit NumberInput(const Strategy& strategy) {
    const Scope root = strategy.Scope().Root().WithVariablePolicy(nullptr);
    OutputList numbers;
    for (int i = 0; i < kWorkers; ++i) {
      const Scope scope = root.WithDevice(strategy.replica_devices()[i]).SubScope("input");
      const DataIterator iterator = Dataset::Range(scope, 1'000'000)
                                        .Shard(kWorkers, i)
                                        .Shuffle(50, {.seed = 1, .seed2 = 2})
                                        .Batch(kBatch, {.drop_remainder = true})
                                        .Prefetch()
                                        .MakeIterator(absl::StrCat("numbers_", i));
      numbers.push_back(iterator.GetNext(scope)[0]);
      positions.push_back(iterator.Position());
    }
    batches = PerReplica(numbers);
  }

  PerReplica batches;
  std::vector<Saveable> positions;
};

Output LossOfNumbers(const ReplicaContext& replica, const Output& numbers) {
  const Scope& scope = replica.scope();
  const Output ids = ops::Cast(scope, ops::FloorMod(scope, numbers, int64_t{6}), DT_INT32);
  const Output targets = ops::Sin(scope, ops::Cast(scope, numbers, DT_FLOAT));
  return EmbeddingLoss(replica, {{}, ids, ops::Reshape(scope, targets, Tensor::Vector<int32_t>({-1, 1}))});
}

// Evaluates each checkpoint, in this process.
class EvaluateHook : public TrainingHook {
 public:
  explicit EvaluateHook(std::string directory) : directory_(std::move(directory)) {}

  absl::Status AfterSave(Session&, int64_t global_step) override {
    ASSIGN_OR_RETURN(const auto one, OneDeviceStrategy(Scope::NewRoot(), "/device:CPU:0"));
    const Scope& scope = one->Scope();
    const Output numbers = scope.Constant(AsTensor<int64_t>({1, 2, 3, 4, 5, 6, 7, 8}));
    const PerReplica loss =
        one->Run([](const ReplicaContext& replica,
                    const OutputList& inputs) { return OutputList{LossOfNumbers(replica, inputs[0])}; },
                 {PerReplica({numbers})})[0];
    const Saver saver(scope);
    RETURN_IF_ERROR(scope.status());
    ASSIGN_OR_RETURN(const auto session, Session::Local(scope));
    RETURN_IF_ERROR(saver.Restore(*session, absl::StrCat(directory_, "/model.ckpt-", global_step)));
    ASSIGN_OR_RETURN(const std::vector<Tensor> value, session->Run({loss[0]}));
    losses_[global_step] = value[0].scalar<float>();
    return absl::OkStatus();
  }
  const std::map<int64_t, float>& losses() const { return losses_; }

 private:
  const std::string directory_;
  std::map<int64_t, float> losses_;
};

struct Outcome {
  int64_t global_step = 0;
  int num_recoveries = 0;
  std::map<int64_t, float> evaluations;  // by global step
  std::vector<Tensor> variables;
};

absl::StatusOr<Outcome> Train(Fault fault, const std::map<std::string, int>& victims) {
  const ScratchDirectory directory;
  ASSIGN_OR_RETURN(
      const auto cluster,
      ProcessCluster::Start({.program = WEIR_PROGRAM, .jobs = kTasks, .flags = {"--deterministic"}, .restart = true}));
  ASSIGN_OR_RETURN(const auto strategy,
                   ParameterServerStrategy::Create(Scope::NewRoot(), {.cluster = cluster->spec()}));
  const Scope& scope = strategy->Scope();
  const NumberInput input(*strategy);
  const ResourceVariable global_step = GlobalStep(scope);
  const PerReplica losses =
      strategy->Run([](const ReplicaContext& replica,
                       const OutputList& inputs) { return OutputList{LossOfNumbers(replica, inputs[0])}; },
                    {input.batches})[0];
  const auto optimizer = AdamOptimizer(0.02);
  TrainingLoopOptions options;
  options.train = strategy->Minimize(*optimizer, losses, global_step);
  options.global_step = global_step;
  options.fetches = {strategy->Reduce(ReduceOp::kMean, losses)};
  options.max_steps = kSteps;
  options.checkpoint_dir = directory.Path("checkpoints");
  options.checkpoint_steps = 4;
  options.saves_in_background = true;
  options.saveables = input.positions;
  options.restore_after_failure = true;  // a step that fails has taken its examples
  options.recovery_timeout = absl::Seconds(60);
  const auto faults = std::make_shared<FaultHook>(fault, cluster.get(), victims, 6, 14);
  const auto evaluations = std::make_shared<EvaluateHook>(options.checkpoint_dir);
  options.hooks = {faults, evaluations, NanHook(0)};
  std::vector<Output> reads;
  for (const ResourceVariable& variable : scope.variables()) reads.push_back(variable.Read(scope));
  TrainingLoop loop(scope, options);
  RETURN_IF_ERROR(scope.status());
  ASSIGN_OR_RETURN(const auto session,
                   Session::Connect(cluster->Target("worker", 0), scope, {.call_timeout = absl::Seconds(60)}));
  const absl::StatusOr<int64_t> reached = loop.Run(*session);
  if (!reached.ok()) return Annotate(reached.status(), faults->description());
  ASSIGN_OR_RETURN(std::vector<Tensor> variables, session->Run(reads));
  return Outcome{.global_step = *reached,
                 .num_recoveries = faults->num_recoveries(),
                 .evaluations = evaluations->losses(),
                 .variables = std::move(variables)};
}

struct LostTask {
  std::string name;
  Fault fault;
  std::map<std::string, int> victims;
};

class InputRecoveryTest : public testing::TestWithParam<LostTask> {};

TEST_P(InputRecoveryTest, EachExampleIsSeenOnce) {
  auto other = std::async(std::launch::async, [] { return Train(Fault::kNone, kTasks); });
  ASSERT_OK_AND_ASSIGN(const Outcome outcome, Train(GetParam().fault, GetParam().victims));
  ASSERT_OK_AND_ASSIGN(const Outcome undisturbed, other.get());
  EXPECT_GE(outcome.num_recoveries, 1);
  EXPECT_EQ(outcome.global_step, kSteps);
  // When background saves begin depends on timing.
  EXPECT_TRUE(outcome.evaluations.contains(kSteps));
  for (const auto& [step, loss] : undisturbed.evaluations) {
    if (const auto own = outcome.evaluations.find(step); own != outcome.evaluations.end()) {
      EXPECT_EQ(own->second, loss) << "step " << step;
    }
  }
  ASSERT_EQ(outcome.variables.size(), undisturbed.variables.size());
  for (size_t i = 0; i < outcome.variables.size(); ++i) {
    ExpectTensorEqual(outcome.variables[i], undisturbed.variables[i], absl::StrCat("variable ", i));
  }
}

INSTANTIATE_TEST_SUITE_P(Tasks, InputRecoveryTest,
                         testing::Values(LostTask{"KillMaster", Fault::kKillMaster, kTasks},
                                         LostTask{"KillWorker", Fault::kKill, {{"worker", kWorkers}}},
                                         LostTask{"KillParameterServer", Fault::kKill, {{"ps", 2}}},
                                         LostTask{"Stop", Fault::kStop, kTasks}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace weir
