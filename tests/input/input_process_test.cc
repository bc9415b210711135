// Datasets that live in other processes than the program that made them.

#include "client/data/dataset.h"
#include "client/data/input_stream.h"
#include "client/initializers.h"
#include "client/ops.h"
#include "client/training_loop.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"
#include "distribute/cluster/process_cluster.h"

namespace weir {
namespace {

constexpr char kPs[] = "/job:ps/task:0";
constexpr char kWorker[] = "/job:worker/task:1";

class InputProcessTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(cluster_, ProcessCluster::Start(
                                       {.program = WEIR_PROGRAM, .jobs = {{"ps", 1}, {"worker", 2}}, .restart = true}));
  }

  // A loop that adds an element of `iterator` to a variable of the ps with each step.
  TrainingLoopOptions AddUp(const DataIterator& iterator) {
    const Scope on_ps = scope_.WithDevice(kPs);
    total_ = ResourceVariable::Make(on_ps.WithName("total"), TensorShape(), DT_INT64, initializers::Zeros());
    TrainingLoopOptions options;
    options.global_step = GlobalStep(on_ps);
    const Operation add = total_.AssignAdd(on_ps, iterator.GetNext(scope_)[0]);
    options.train = options.global_step.AssignAdd(on_ps.WithControlDependencies({add}), int64_t{1});
    options.checkpoint_dir = directory_.path();
    options.checkpoint_steps = 4;
    options.recovery_timeout = absl::Seconds(60);
    return options;
  }
  absl::StatusOr<std::unique_ptr<Session>> Connect() { return Session::Connect(cluster_->Target("worker", 0), scope_); }

  const ScratchDirectory directory_;
  std::unique_ptr<ProcessCluster> cluster_;
  const Scope scope_ = Scope::NewRoot();
  ResourceVariable total_;
};

class KillAt : public TrainingHook {
 public:
  KillAt(int64_t step, std::function<void()> kill) : step_(step), kill_(std::move(kill)) {}
  absl::StatusOr<bool> AfterStep(Session&, const StepReport& report) override {
    if (report.global_step == step_ && !std::exchange(done_, true)) kill_();
    return false;
  }
  void Recovered(const RecoveryReport& report) override { ++recoveries; }
  int recoveries = 0;

 private:
  const int64_t step_;
  const std::function<void()> kill_;
  bool done_ = false;
};

TEST_F(InputProcessTest, EveryElementIsTrainedOnOnceThoughTheTaskThatReadsItIsKilled) {
  const DataIterator iterator =
      Dataset::Range(scope_.WithDevice(kWorker), 30)
          .ParallelMap([](const Scope& s, const OutputList& x) { return OutputList{ops::Mul(s, x[0], 3)}; })
          .Shuffle(8, {.seed = 5})
          .Prefetch(2)
          .MakeIterator("input");
  TrainingLoopOptions options = AddUp(iterator);
  options.saveables = {iterator.Position()};
  const auto kill = std::make_shared<KillAt>(10, [this] { cluster_->Kill("worker", 1); });
  options.hooks = {kill};
  TrainingLoop loop(scope_, options);
  ASSERT_OK_AND_ASSIGN(const auto session, Connect());
  ASSERT_OK_AND_ASSIGN(const int64_t reached, loop.Run(*session));
  EXPECT_EQ(reached, 30);
  EXPECT_EQ(kill->recoveries, 1);
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> total, session->Run({total_.value()}));
  EXPECT_EQ(total[0].scalar<int64_t>(), 3 * 29 * 30 / 2);
}

TEST_F(InputProcessTest, AGeneratorOfThisProcessFeedsADatasetOfAnother) {
  const InputStream stream(scope_.WithDevice(kWorker), {{DT_INT64}, {TensorShape()}}, 4);
  const DataIterator iterator = stream.dataset().MakeIterator("input");
  TrainingLoopOptions options = AddUp(iterator);
  options.checkpoint_dir = "";
  options.saveables = {iterator.Position()};
  TrainingLoop loop(scope_, options);
  ASSERT_OK_AND_ASSIGN(const auto session, Connect());
  GeneratorFeed feed(session.get(), &stream,
                     [i = int64_t{0}](std::vector<Tensor>* element) mutable -> absl::StatusOr<bool> {
                       *element = {Tensor::Scalar<int64_t>(++i)};
                       return i <= 20;
                     });
  ASSERT_OK_AND_ASSIGN(const int64_t reached, loop.Run(*session));
  EXPECT_EQ(reached, 20);
  EXPECT_THAT(feed.Await(), IsOk());
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> total, session->Run({total_.value()}));
  EXPECT_EQ(total[0].scalar<int64_t>(), 210);
}

}  // namespace
}  // namespace weir
