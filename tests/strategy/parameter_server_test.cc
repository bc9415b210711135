// Workers with steps of their own: backup workers, late gradients, staleness, one graph a worker.
#include <future>

#include "absl/cleanup/cleanup.h"
#include "absl/synchronization/notification.h"
#include "client/initializers.h"
#include "client/ops.h"
#include "client/strategy/chief_thread.h"
#include "client/strategy/mirrored_strategy.h"
#include "client/strategy/parameter_server_strategy.h"
#include "core/testing.h"
#include "distribute/cluster/process_cluster.h"
#include "graph/graph.h"
#include "tests/strategy/training_run.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

ClusterSpec Spec(int ps, int workers) {
  ClusterSpec spec;
  for (int i = 0; i < ps; ++i) EXPECT_THAT(spec.AddTask("ps", i, absl::StrCat("localhost:", 1000 + i)), IsOk());
  for (int i = 0; i < workers; ++i) {
    EXPECT_THAT(spec.AddTask("worker", i, absl::StrCat("localhost:", 2000 + i)), IsOk());
  }
  return spec;
}

TEST(ParameterServerStrategyTest, PlacesVariablesByBytes) {
  const Scope root = Scope::NewRoot();
  ASSERT_OK_AND_ASSIGN(const auto strategy, ParameterServerStrategy::Create(root, {.cluster = Spec(2, 1)}));
  const auto device_of = [&](const std::string& name, int64_t size) {
    return ResourceVariable::Make(strategy->Scope().WithName(name), TensorShape({size}), DT_FLOAT,
                                  initializers::Zeros())
        .handle()
        .node()
        ->requested_device();
  };
  EXPECT_THAT(device_of("large", 100), HasSubstr("task:0"));
  EXPECT_THAT(device_of("small", 10), HasSubstr("task:1"));
  EXPECT_THAT(device_of("medium", 50), HasSubstr("task:1"));
  EXPECT_THAT(device_of("another", 41), HasSubstr("task:1"));
  EXPECT_THAT(device_of("last", 1), HasSubstr("task:0"));
}

TEST(ParameterServerStrategyTest, NamesWhatIsWrongWithItsOptions) {
  const auto error = [](ParameterServerOptions options) {
    return ParameterServerStrategy::Create(Scope::NewRoot(), std::move(options)).status();
  };
  EXPECT_THAT(error({.cluster = Spec(0, 2)}), StatusIs(kInvalid, HasSubstr("job 'ps'")));
  EXPECT_THAT(error({.cluster = Spec(1, 2), .worker_job = "trainer"}), StatusIs(kInvalid, HasSubstr("'trainer'")));
  EXPECT_THAT(error({.cluster = Spec(1, 2), .worker = 2, .steps = WorkerSteps::kAsynchronous}),
              StatusIs(kInvalid, HasSubstr("no worker 2; job 'worker' has 2 tasks")));
  EXPECT_THAT(error({.cluster = Spec(1, 2), .worker = 0}), StatusIs(kInvalid, HasSubstr("cannot step together")));
  EXPECT_THAT(error({.cluster = Spec(1, 2), .steps = WorkerSteps::kSynchronous, .backup_workers = 2}),
              StatusIs(kInvalid, HasSubstr("2 backup workers of 2")));
  EXPECT_THAT(error({.cluster = Spec(1, 2), .staleness_bound = 3}), StatusIs(kInvalid, HasSubstr("staleness bound 3")));
}

// A cluster whose workers each pull w, x = 1, 2, 3 for workers 0, 1, 2, of the loss w * x. The last is held back
// between the reading of w and the gradient.
class HeldBackWorkerTest : public testing::Test {
 protected:
  static constexpr int kWorkers = 3, kHeld = 2;

  void Build(ParameterServerOptions options) {
    ASSERT_OK_AND_ASSIGN(cluster_,
                         ProcessCluster::Start({.program = WEIR_PROGRAM, .jobs = {{"ps", 1}, {"worker", kWorkers}}}));
    options.cluster = cluster_->spec();
    ASSERT_OK_AND_ASSIGN(strategy_, ParameterServerStrategy::Create(root_, options));
    step_ = GlobalStep(strategy_->Scope());
    w_ = ResourceVariable::Make(strategy_->Scope().WithName("w"), TensorShape(), DT_FLOAT, initializers::Zeros());
    const Scope on_ps = root_.WithDevice("/job:ps/task:0/device:CPU:0");
    const Output begun = ops::FIFOQueueV2(on_ps, {DT_BOOL}), go = ops::FIFOQueueV2(on_ps, {DT_BOOL});
    const PerReplica loss = strategy_->Run([&](const ReplicaContext& replica, const OutputList&) {
      const Scope& scope = replica.scope();
      const int i = replica.replica_id_in_sync_group();
      const Output w = ops::Identity(scope, w_.value());
      Operation ready = w.op();
      if (i == kHeld) {
        const Scope read = on_ps.WithControlDependencies(std::vector<Operation>{ready});
        const Operation told = ops::QueueEnqueueV2(read, begun, {on_ps.Constant(true)});
        ready = ops::QueueDequeueV2(on_ps.WithControlDependencies(std::vector<Operation>{told}), go, {DT_BOOL})[0].op();
      }
      const Scope then = scope.WithControlDependencies(std::vector<Operation>{ready});
      const Output x = ops::Identity(then, scope.Constant(static_cast<float>(i + 1), DT_FLOAT));
      return OutputList{ops::Mul(scope, w, x)};
    })[0];
    const auto optimizer = GradientDescentOptimizer(1.0);
    strategy_->Minimize(*optimizer, loss, step_);
    has_begun_ = ops::QueueDequeueV2(on_ps, begun, {DT_BOOL})[0];
    let_go_ = ops::QueueEnqueueV2(on_ps, go, {on_ps.Constant(true)});
    const Operation initialize = InitializeAll(strategy_->Scope());
    ASSERT_THAT(root_.status(), IsOk());
    ASSERT_OK_AND_ASSIGN(session_, Session::Connect(cluster_->Target("worker", 0), root_));
    ASSERT_THAT(session_->RunTargets({initialize}), IsOk());
    if (!strategy_->start().valid()) return;
    ASSERT_THAT(session_->RunTargets({strategy_->start()}), IsOk());
  }

  // Worker 2 begins a step, and has read w when this returns.
  std::future<absl::Status> BeginHeld() {
    auto held =
        std::async(std::launch::async, [this] { return session_->RunTargets({strategy_->worker_steps()[kHeld]}); });
    EXPECT_THAT(session_->Run({has_begun_}), IsOk());
    return held;
  }
  void LetGo(std::future<absl::Status> held) {
    EXPECT_THAT(session_->RunTargets({let_go_}), IsOk());
    EXPECT_THAT(held.get(), IsOk());
  }
  void ExpectState(int64_t step, float w) {
    ASSERT_OK_AND_ASSIGN(const auto state, session_->Run({step_.value(), w_.value()}));
    EXPECT_EQ(state[0].scalar<int64_t>(), step);
    EXPECT_FLOAT_EQ(state[1].scalar<float>(), w);
  }

  const Scope root_ = Scope::NewRoot();
  std::unique_ptr<ProcessCluster> cluster_;
  std::unique_ptr<ParameterServerStrategy> strategy_;
  std::unique_ptr<Session> session_;
  ResourceVariable step_, w_;
  Output has_begun_;
  Operation let_go_;
};

TEST_F(HeldBackWorkerTest, AStepIsMadeWithoutTheBackupWorkerWhoseGradientThenIsDropped) {
  Build({.steps = WorkerSteps::kSynchronous, .backup_workers = 1});
  const auto& workers = strategy_->worker_steps();
  auto held = BeginHeld();
  ASSERT_THAT(session_->RunTargets({workers[0], workers[1], strategy_->chief_steps()[0]}), IsOk());
  ASSERT_THAT(session_->RunTargets({strategy_->chief_steps()[1]}), IsOk());
  ExpectState(1, -1.5F);  // minus the mean of 1 and 2
  LetGo(std::move(held));
  ExpectState(1, -1.5F);
  // The late gradient does not count for the next update either.
  ASSERT_THAT(session_->RunTargets({workers[0], workers[1], strategy_->chief_steps()[0]}), IsOk());
  ExpectState(2, -3.0F);
}

TEST_F(HeldBackWorkerTest, AGradientBeyondTheStalenessBoundIsDropped) {
  Build({.steps = WorkerSteps::kAsynchronous, .staleness_bound = 1});
  const auto& workers = strategy_->worker_steps();
  auto held = BeginHeld();
  ASSERT_THAT(session_->RunTargets({workers[0]}), IsOk());
  LetGo(std::move(held));  // one update since: within the bound
  ExpectState(2, -4.0F);
  held = BeginHeld();
  ASSERT_THAT(session_->RunTargets({workers[0]}), IsOk());
  ASSERT_THAT(session_->RunTargets({workers[1]}), IsOk());
  LetGo(std::move(held));
  ExpectState(4, -7.0F);
  ASSERT_OK_AND_ASSIGN(const auto dropped, session_->Run({strategy_->num_dropped().value()}));
  EXPECT_EQ(dropped[0].scalar<int64_t>(), 1);
}

TEST_F(HeldBackWorkerTest, WithoutABoundEveryGradientCounts) {
  Build({.steps = WorkerSteps::kAsynchronous});
  const auto& workers = strategy_->worker_steps();
  auto held = BeginHeld();
  for (int i = 0; i < 3; ++i) ASSERT_THAT(session_->RunTargets({workers[0]}), IsOk());
  LetGo(std::move(held));
  ExpectState(4, -6.0F);
}

// One client, graph and master a worker: they meet in the variables, accumulators and tokens of the parameter servers.
TEST(ParameterServerBetweenGraphsTest, TrainsAsOneDeviceDoes) {
  constexpr int kWorkers = 3;
  const Scope root = Scope::NewRoot();
  ASSERT_OK_AND_ASSIGN(const auto one, OneDeviceStrategy(root, "/device:CPU:0"));
  const auto optimizer = [] { return MomentumOptimizer(0.02, 0.9); };
  const auto local = [](const Scope& scope) { return Session::Local(scope); };
  ASSERT_OK_AND_ASSIGN(const TrainedModel expected, TrainInGraph(*one, local, EmbeddingLoss, optimizer));

  ASSERT_OK_AND_ASSIGN(const auto cluster,
                       ProcessCluster::Start({.program = WEIR_PROGRAM, .jobs = {{"ps", 2}, {"worker", kWorkers}}}));
  absl::Notification initialized;
  const auto start = [&](Strategy& strategy, Session& session, const Operation& initialize) -> absl::Status {
    const auto& ps = static_cast<ParameterServerStrategy&>(strategy);
    if (strategy.first_replica() > 0) {
      initialized.WaitForNotification();
      return absl::OkStatus();
    }
    const absl::Cleanup notify = [&] { initialized.Notify(); };
    RETURN_IF_ERROR(session.RunTargets({initialize}));
    return session.RunTargets({ps.start()});
  };
  std::vector<FutureModel> workers;
  for (int i = 0; i < kWorkers; ++i) {
    workers.push_back(std::async(std::launch::async, [&, i]() -> absl::StatusOr<TrainedModel> {
      ASSIGN_OR_RETURN(
          const auto strategy,
          ParameterServerStrategy::Create(
              Scope::NewRoot(), {.cluster = cluster->spec(), .worker = i, .steps = WorkerSteps::kSynchronous}));
      return TrainBetweenGraphs(*strategy, cluster->Target("worker", i), EmbeddingLoss, optimizer, start,
                                [&](Strategy&) { return strategy->chief_steps(); });
    }));
  }
  ExpectMeanLosses(workers, expected);
}

}  // namespace
}  // namespace weir
