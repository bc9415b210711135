// A loop on dealt input goes on after the loss of any task, the dealer's included: it uses each example of an epoch
// once, because checkpoints hold the dealer's progress with the variables.
#include "client/data/dealt_dataset.h"
#include "client/initializers.h"
#include "client/ops.h"
#include "client/training_loop.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"
#include "tests/recovery/faults.h"

namespace weir {
namespace {

constexpr int64_t kEpochs = 2, kExamples = 100, kChunk = 22, kBatch = 4;
const std::map<std::string, int> kTasks = {{"ps", 2}, {"worker", 2}};

// Counts each example of each epoch.
struct CountingStep {
  explicit CountingStep(const Scope& scope) : global_step(GlobalStep(scope.WithDevice("/job:ps/task:0"))) {
    const Scope first = scope.WithDevice("/job:ps/task:0"), last = scope.WithDevice("/job:ps/task:1"),
                worker = scope.WithDevice("/job:worker/task:1");
    const DealtDataset dealt(first, "numbers", EvenChunks(kExamples, kChunk),
                             {.batch_size = kBatch, .epochs = kEpochs, .shuffle = true, .seed = 3});
    const DealtInput input = dealt.ForWorker(
        worker, Tensor::Scalar<tstring>("worker-1"), [](const Scope& s, const Output&, const Output& chunk) {
          return Dataset::Range(s, kChunk).Map([chunk](const Scope& s, const OutputList& example) {
            return OutputList{ops::AddV2(s, ops::Mul(s, chunk, kChunk), example[0])};
          });
        });
    counts = ResourceVariable::Make(last.WithName("counts"), TensorShape({kEpochs * kExamples}), DT_INT64,
                                    initializers::Zeros(), {.trainable = false});
    const Output epoch = ops::Gather(worker, input.range(), Tensor::Scalar<int32_t>(0));
    const Output places = ops::AddV2(worker, input.next()[0], ops::Mul(worker, epoch, kExamples));
    const Operation count = ops::ResourceScatterAdd(last, counts.handle(), places, Tensor::Scalar<int64_t>(1));
    const Operation advance = input.Advance(scope, {places.op()});
    train = global_step.AssignAdd(first.WithControlDependencies({count, advance}), int64_t{1});
  }

  ResourceVariable global_step, counts;
  Operation train;
};

class DealtInputRecoveryTest : public testing::TestWithParam<std::pair<Fault, std::map<std::string, int>>> {};

TEST_P(DealtInputRecoveryTest, EachExampleIsSeenOnce) {
  const ScratchDirectory directory;
  ASSERT_OK_AND_ASSIGN(const auto cluster,
                       ProcessCluster::Start({.program = WEIR_PROGRAM, .jobs = kTasks, .restart = true}));
  const Scope scope = Scope::NewRoot();
  const CountingStep step(scope);
  const auto faults = std::make_shared<FaultHook>(GetParam().first, cluster.get(), GetParam().second, 6, 40);
  TrainingLoopOptions options;
  options.train = step.train;
  options.global_step = step.global_step;
  options.checkpoint_dir = directory.Path("checkpoints");
  options.checkpoint_steps = 4;
  options.saves_in_background = true;
  options.recovery_timeout = absl::Seconds(60);
  options.hooks = {faults};
  TrainingLoop loop(scope, options);
  ASSERT_THAT(scope.status(), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto session,
                       Session::Connect(cluster->Target("worker", 0), scope, {.call_timeout = absl::Seconds(60)}));
  ASSERT_THAT(loop.Run(*session), IsOk()) << faults->description();
  EXPECT_GE(faults->num_recoveries(), 1) << faults->description();
  ASSERT_OK_AND_ASSIGN(const auto counts, session->Run({step.counts.value()}));
  for (int64_t i = 0; i < kEpochs * kExamples; ++i) {
    EXPECT_EQ(counts[0].flat<int64_t>()[i], 1)
        << "example " << i % kExamples << " of epoch " << i / kExamples << ", " << faults->description();
  }
}

INSTANTIATE_TEST_SUITE_P(Tasks, DealtInputRecoveryTest,
                         testing::Values(std::pair(Fault::kKillMaster, kTasks),
                                         std::pair(Fault::kKill, std::map<std::string, int>{{"worker", 2}}),
                                         std::pair(Fault::kKill, std::map<std::string, int>{{"ps", 1}}),
                                         std::pair(Fault::kKill, std::map<std::string, int>{{"ps", 2}}),
                                         std::pair(Fault::kStop, kTasks)),
                         [](const auto& info) { return absl::StrCat(FaultName(info.param.first), "_", info.index); });

}  // namespace
}  // namespace weir
