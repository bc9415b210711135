// Steps whose updates lie on several tasks take effect everywhere or nowhere, whichever task is lost.
#include <future>
#include <optional>
#include <thread>

#include "client/ops.h"
#include "client/session.h"
#include "core/clock.h"
#include "core/testing.h"
#include "distribute/cluster/process_cluster.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace weir {
namespace {

// A step of worker 0 adds one to `a` on parameter server 0 and to `b` on 1. The part for `b` waits for a token on the
// worker; what `a` gets is on its server by then, which the length of a queue there shows.
class StepCommitTest : public testing::Test {
 protected:
  void StartCluster(const std::vector<std::string>& flags = {}) {
    ASSERT_OK_AND_ASSIGN(
        cluster_, ProcessCluster::Start({.program = WEIR_PROGRAM, .jobs = {{"ps", 2}, {"worker", 1}}, .flags = flags}));
    const Scope ps0 = scope_.WithDevice("/job:ps/task:0"), ps1 = scope_.WithDevice("/job:ps/task:1"),
                worker = scope_.WithDevice("/job:worker/task:0");
    const Output a = Variable(ps0, "a"), b = Variable(ps1, "b");
    init_ = {ops::AssignVariableOp(ps0, a, 0.0f), ops::AssignVariableOp(ps1, b, 0.0f)};
    const Output arrivals = ops::FIFOQueueV2(ps0, {DT_FLOAT}, {.shared_name = "arrivals"});
    const Output tokens = ops::FIFOQueueV2(worker, {DT_FLOAT}, {.shared_name = "tokens"});
    const Output one = ops::Placeholder(worker, DT_FLOAT);
    const Output for_a = ops::Identity(worker, one);
    const Output token = ops::QueueDequeueV2(worker, tokens, {DT_FLOAT})[0];
    const Output for_b = ops::Mul(worker, one, token);
    one_ = one;
    step_ = {ops::QueueEnqueueV2(ps0, arrivals, {for_a}), ops::AssignAddVariableOp(ps0, a, for_a),
             ops::AssignAddVariableOp(ps1, b, for_b)};
    let_pass_ = ops::QueueEnqueueV2(worker, tokens, {one});
    arrived_ = ops::QueueSizeV2(ps0, arrivals);
    a_ = ops::ReadVariableOp(ps0, a, DT_FLOAT);
    b_ = ops::ReadVariableOp(ps1, b, DT_FLOAT);
    // The worker is the step's master; the observer has its own, which outlives the worker.
    ASSERT_OK_AND_ASSIGN(session_, Session::Connect(cluster_->Target("worker", 0), scope_));
    ASSERT_OK_AND_ASSIGN(observer_, Session::Connect(cluster_->Target("ps", 0), scope_));
    ASSERT_THAT(session_->RunTargets(init_), IsOk());
  }

  static Output Variable(const Scope& scope, const std::string& name) {
    return ops::VarHandleOp(scope, DT_FLOAT, TensorShape({}), {.shared_name = name});
  }

  absl::Status Step(const RunOptions& options = {}) {
    return session_->Run({{one_, AsScalar<float>(1)}}, {}, step_, options).status();
  }
  absl::Status LetPass() { return session_->Run({{one_, AsScalar<float>(1)}}, {}, {let_pass_}).status(); }

  // Until the gradient of `a` has been sent to its server `count` times.
  void AwaitArrivals(int count) {
    const absl::Time end = MonotonicNow() + absl::Seconds(60);
    while (MonotonicNow() < end) {
      const auto arrived = observer_->Run({arrived_});
      ASSERT_THAT(arrived, IsOk());
      if ((*arrived)[0].scalar<int32_t>() >= count) return;
    }
    FAIL() << "The step's first part did not arrive";
  }

  // Asks until both servers answer.
  std::pair<float, float> Values() {
    absl::StatusOr<std::vector<Tensor>> values = observer_->Run({a_, b_});
    for (const absl::Time end = MonotonicNow() + absl::Seconds(60); !values.ok() && MonotonicNow() < end;) {
      values = observer_->Run({a_, b_});
    }
    if (!values.ok()) return {-1, -1};
    return {(*values)[0].scalar<float>(), (*values)[1].scalar<float>()};
  }

  std::unique_ptr<ProcessCluster> cluster_;
  Scope scope_ = Scope::NewRoot();
  std::vector<Operation> init_, step_;
  Operation let_pass_;
  Output one_, arrived_, a_, b_;
  std::unique_ptr<Session> session_, observer_;
};

TEST_F(StepCommitTest, AStepUpdatesAllServers) {
  StartCluster();
  for (int i = 1; i <= 5; ++i) {
    ASSERT_THAT(LetPass(), IsOk());
    ASSERT_THAT(Step(), IsOk());
    EXPECT_EQ(Values(), std::make_pair(float(i), float(i)));
  }
}

TEST_F(StepCommitTest, AWorkerThatIsKilledBetweenTwoUpdatesLeavesNeither) {
  StartCluster();
  std::future<absl::Status> step = std::async(std::launch::async, [this] { return Step(); });
  AwaitArrivals(1);
  cluster_->Kill("worker", 0);
  EXPECT_FALSE(step.get().ok());
  EXPECT_EQ(Values(), std::make_pair(0.f, 0.f));
}

TEST_F(StepCommitTest, AStepThatTimesOutLeavesNothing) {
  StartCluster();
  tensorflow::RunOptions options;
  options.set_timeout_in_ms(500);
  EXPECT_THAT(Step(options), StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_EQ(Values(), std::make_pair(0.f, 0.f));
  std::future<absl::Status> step = std::async(std::launch::async, [this] { return Step(); });
  // If the client gave up before the worker did, the step that timed out may still take a token.
  do {
    ASSERT_THAT(LetPass(), IsOk());
  } while (step.wait_for(std::chrono::seconds(1)) == std::future_status::timeout);
  ASSERT_THAT(step.get(), IsOk());
  EXPECT_EQ(Values(), std::make_pair(1.f, 1.f));
}

TEST_F(StepCommitTest, AServerThatIsLostLeavesTheOtherUntouched) {
  StartCluster();
  std::future<absl::Status> step = std::async(std::launch::async, [this] { return Step(); });
  AwaitArrivals(1);
  cluster_->Kill("ps", 1);
  EXPECT_THAT(step.get(), StatusIs(absl::StatusCode::kUnavailable, testing::HasSubstr("/job:ps/replica:0/task:1")));
  const auto a = observer_->Run({a_});
  ASSERT_THAT(a, IsOk());
  EXPECT_EQ((*a)[0].scalar<float>(), 0);
}

// The other server waits for a value behind the failed update, and this server for the other's answer.
TEST_F(StepCommitTest, AnUpdateThatFailsEndsTheStepEverywhere) {
  StartCluster();
  const Scope ps0 = scope_.WithDevice("/job:ps/task:0"), ps1 = scope_.WithDevice("/job:ps/task:1");
  const Output a = Variable(ps0, "a"), b = Variable(ps1, "b");
  const Operation fails = ops::AssignAddVariableOp(ps0, Variable(ps0, "nowhere"), 1.0f);
  const Output from_0 = ops::ReadVariableOp(ps0.WithControlDependencies({fails}), a, DT_FLOAT);
  const Operation there = ops::AssignAddVariableOp(ps1, b, from_0);
  const Output from_1 = ops::ReadVariableOp(ps1.WithControlDependencies({there}), b, DT_FLOAT);
  const Operation back = ops::AssignAddVariableOp(ps0, a, from_1);
  tensorflow::RunOptions options;
  options.set_timeout_in_ms(30'000);
  EXPECT_THAT(session_->Run({}, {}, {back}, options).status(),
              StatusIs(absl::StatusCode::kNotFound, testing::HasSubstr("nowhere")));
  EXPECT_EQ(Values(), std::make_pair(0.f, 0.f));
}

// A step of the worker, which is its master, adds one to `w` there and to `a` and `b` on the parameter server, which
// decides.
class OwnTaskTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(cluster_,
                         ProcessCluster::Start({.program = WEIR_PROGRAM, .jobs = {{"ps", 1}, {"worker", 1}}}));
    Scope root = Scope::NewRoot();
    const Scope ps = root.WithDevice("/job:ps/task:0"), worker = root.WithDevice("/job:worker/task:0");
    std::vector<Operation> init;
    for (const auto& [scope, name] : {std::pair(worker, "w"), std::pair(ps, "a"), std::pair(ps, "b")}) {
      const Output variable = ops::VarHandleOp(scope, DT_FLOAT, TensorShape({}), {.shared_name = name});
      init.push_back(ops::AssignVariableOp(scope, variable, 0.0f));
      step_.push_back(ops::AssignAddVariableOp(scope, variable, 1.0f));
      values_.push_back(ops::ReadVariableOp(scope, variable, DT_FLOAT));
    }
    ASSERT_OK_AND_ASSIGN(session_, Session::Connect(cluster_->Target("worker", 0), root));
    ASSERT_THAT(session_->RunTargets(init), IsOk());
  }

  // The step's status; OK, which no step here should end with, if it hangs.
  absl::Status StepInTime() {
    step_in_flight_ = std::async(std::launch::async, [this] { return session_->RunTargets(step_); });
    if (step_in_flight_.wait_for(std::chrono::seconds(40)) == std::future_status::ready) return step_in_flight_.get();
    ADD_FAILURE() << "The step hangs";
    cluster_->Resume("ps", 0);
    step_in_flight_.wait();
    return absl::OkStatus();
  }

  std::unique_ptr<ProcessCluster> cluster_;
  std::unique_ptr<Session> session_;
  std::vector<Operation> step_;
  std::vector<Output> values_;
  std::future<absl::Status> step_in_flight_;
};

TEST_F(OwnTaskTest, ACoordinatorThatHangsFailsTheStepInTime) {
  ASSERT_THAT(session_->RunTargets(step_), IsOk());
  cluster_->Pause("ps", 0);
  const auto is_named = StatusIs(absl::StatusCode::kUnavailable, testing::HasSubstr("/job:ps/replica:0/task:0"));
  EXPECT_THAT(StepInTime(), is_named);
  EXPECT_FALSE(StepInTime().ok());  // the first is still open on the worker
  cluster_->Resume("ps", 0);
  absl::Status again = session_->RunTargets(step_);
  for (const absl::Time end = MonotonicNow() + absl::Seconds(60); !again.ok() && MonotonicNow() < end;) {
    again = session_->RunTargets(step_);
  }
  ASSERT_THAT(again, IsOk());
  const auto values = session_->Run(values_);
  ASSERT_THAT(values, IsOk());
  const float w = (*values)[0].scalar<float>();
  EXPECT_GE(w, 2);
  EXPECT_EQ((*values)[1].scalar<float>(), w);
  EXPECT_EQ((*values)[2].scalar<float>(), w);
}

TEST_F(StepCommitTest, ASessionCanTurnItOff) {
  StartCluster();
  SessionOptions options;
  options.config->mutable_graph_options()->mutable_rewrite_options()->add_custom_optimizers()->set_name(
      "UncommittedSteps");
  ASSERT_OK_AND_ASSIGN(session_, Session::Connect(cluster_->Target("worker", 0), scope_, options));
  std::future<absl::Status> step = std::async(std::launch::async, [this] { return Step(); });
  // `a` is updated on its own.
  const absl::Time end = MonotonicNow() + absl::Seconds(60);
  while (Values().first == 0 && MonotonicNow() < end) {
  }
  EXPECT_EQ(Values(), std::make_pair(1.f, 0.f));
  ASSERT_THAT(LetPass(), IsOk());
  EXPECT_THAT(step.get(), IsOk());
}

}  // namespace
}  // namespace weir
