// A master asks the coordinator about the updates of failed steps, and fences steps whose outcome is open.
#include <atomic>
#include <future>

#include "core/clock.h"
#include "core/testing.h"
#include "distribute/transport/fake_worker_testing.h"
#include "google/protobuf/text_format.h"
#include "graph/passes/step_commit.h"
#include "kernels/library.h"
#include "master/master_session.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kWorker[] = "/job:worker/replica:0/task:0", kPs[] = "/job:ps/replica:0/task:0";

// A task with a commit, whose answers the test sets.
class CommittingWorker : public FakeWorker {
 public:
  explicit CommittingWorker(const std::string& task) : task_(task) {}

  std::atomic<uint64_t> incarnation{11};
  absl::Status resolved, fenced;  // answers of ResolveStep and FenceSteps
  bool committed = false;
  std::vector<int64_t> steps_run, steps_resolved;
  std::vector<int64_t> steps_fenced;    // of the last call
  std::vector<size_t> sizes_of_fences;  // by call
  // The steps of all CleanupGraph calls, which timers make too.
  std::vector<int64_t> steps_cleaned_up() {
    MutexLock lock(mu_);
    return steps_cleaned_up_;
  }

  void GetStatusAsync(const CallOptions&, const tensorflow::GetStatusRequest*, tensorflow::GetStatusResponse* response,
                      DoneCallback done) override {
    tensorflow::DeviceAttributes* const device = response->add_device_attributes();
    device->set_name(task_ + "/device:CPU:0");
    device->set_device_type("CPU");
    device->set_incarnation(incarnation);
    done(absl::OkStatus());
  }
  void GetCapabilitiesAsync(const CallOptions&, const GetCapabilitiesRequest*, GetCapabilitiesResponse* response,
                            DoneCallback done) override {
    response->set_commit_version(kCommitVersion);
    done(absl::OkStatus());
  }
  void ResolveStepAsync(const CallOptions&, const ResolveStepRequest* request, ResolveStepResponse* response,
                        DoneCallback done) override {
    steps_resolved.push_back(request->step_id());
    response->set_committed(committed);
    response->set_incarnation(incarnation);
    done(resolved);
  }
  void FenceStepsAsync(const CallOptions&, const FenceStepsRequest* request, FenceStepsResponse*,
                       DoneCallback done) override {
    steps_fenced.assign(request->step_id().begin(), request->step_id().end());
    sizes_of_fences.push_back(steps_fenced.size());
    done(fenced);
  }
  void CleanupGraphAsync(const CallOptions&, const tensorflow::CleanupGraphRequest* request,
                         tensorflow::CleanupGraphResponse*, DoneCallback done) override {
    {
      MutexLock lock(mu_);
      steps_cleaned_up_.push_back(request->step_id());
    }
    done(absl::OkStatus());
  }

 private:
  const std::string task_;
  Mutex mu_;
  std::vector<int64_t> steps_cleaned_up_ GUARDED_BY(mu_);
};

class TwoTasks : public WorkerPool {
 public:
  std::shared_ptr<CommittingWorker> worker = std::make_shared<CommittingWorker>(kWorker),
                                    ps = std::make_shared<CommittingWorker>(kPs);

  std::vector<std::string> Tasks() const override { return {kPs, kWorker}; }
  absl::StatusOr<std::shared_ptr<WorkerInterface>> Get(absl::string_view task) override {
    return task == kPs ? ps : worker;
  }
};

class FenceTest : public testing::Test {
 protected:
  FenceTest() {
    EXPECT_THAT(RegisterAllOps(ops_), IsOk());
    EXPECT_THAT(RegisterAllKernels(kernels_), IsOk());
    MasterSession::Options options{.handle = "s", .ops = &ops_, .kernels = &kernels_, .timers = &timers_};
    options.tasks = {.workers = &pool_, .local_task = kWorker, .session_handle = "s"};
    session_ = std::make_unique<MasterSession>(std::move(options));
    tensorflow::GraphDef graph;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(R"(
      versions { producer: 1882 }
      node { name: "v" op: "VarHandleOp" device: "/job:ps/task:0" attr { key: "dtype" value { type: DT_FLOAT } }
             attr { key: "shape" value { shape {} } } }
      node { name: "one" op: "Const" device: "/job:worker/task:0" attr { key: "dtype" value { type: DT_FLOAT } }
             attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 1 } } } }
      node { name: "u" op: "VarHandleOp" device: "/job:ps/task:0" attr { key: "dtype" value { type: DT_FLOAT } }
             attr { key: "shape" value { shape {} } } }
      node { name: "w" op: "VarHandleOp" device: "/job:worker/task:0" attr { key: "dtype" value { type: DT_FLOAT } }
             attr { key: "shape" value { shape {} } } }
      node { name: "add_u" op: "AssignAddVariableOp" input: "u" input: "one" device: "/job:ps/task:0"
             attr { key: "dtype" value { type: DT_FLOAT } } }
      node { name: "add_w" op: "AssignAddVariableOp" input: "w" input: "one" device: "/job:worker/task:0"
             attr { key: "dtype" value { type: DT_FLOAT } } }
      node { name: "add" op: "AssignAddVariableOp" input: "v" input: "one" device: "/job:ps/task:0"
             attr { key: "dtype" value { type: DT_FLOAT } } })",
                                                              &graph));
    EXPECT_THAT(session_->Create(Soon(), graph), IsOk());
    pool_.ps->run_graph = [this](const CallOptions&, const RunGraphArgs& args, auto done) {
      pool_.ps->steps_run.push_back(args.step_id);
      if (pool_.ps->status.ok()) return done(RunGraphResult());
      done(pool_.ps->status);
    };
  }

  static CallOptions Soon() { return {.deadline = MonotonicNow() + absl::Seconds(30)}; }
  absl::Status RunStep(const std::vector<std::string>& targets = {"add"}) {
    RunStepArgs args;
    args.targets = targets;
    return session_->Run(Soon(), args).status();
  }

  OpRegistry ops_;
  KernelRegistry kernels_;
  TimerQueue timers_;
  TwoTasks pool_;
  std::unique_ptr<MasterSession> session_;
};

TEST_F(FenceTest, AStepThatFailsIsAbortedAtTheCoordinator) {
  pool_.ps->status = errors::InvalidArgument("a kernel failed");
  EXPECT_THAT(RunStep(), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(pool_.ps->steps_resolved, pool_.ps->steps_run);
  pool_.ps->status = absl::OkStatus();
  EXPECT_THAT(RunStep(), IsOk());
  EXPECT_THAT(pool_.ps->steps_fenced, IsEmpty());  // its outcome is known
}

TEST_F(FenceTest, AStepIsFencedOnATaskThatAnswersAgain) {
  pool_.ps->status = pool_.ps->resolved = errors::Unavailable("the connection broke");
  EXPECT_THAT(RunStep(), StatusIs(absl::StatusCode::kUnavailable));
  const std::vector<int64_t> failed = pool_.ps->steps_run;
  ASSERT_EQ(failed.size(), 1u);
  pool_.ps->status = pool_.ps->resolved = absl::OkStatus();
  EXPECT_THAT(RunStep(), IsOk());
  EXPECT_EQ(pool_.ps->steps_fenced, failed);
}

TEST_F(FenceTest, NoStepRunsBeforeTheFence) {
  pool_.ps->status = pool_.ps->resolved = errors::Unavailable("the connection broke");
  EXPECT_THAT(RunStep(), StatusIs(absl::StatusCode::kUnavailable));
  pool_.ps->status = pool_.ps->resolved = absl::OkStatus();
  pool_.ps->fenced = errors::DeadlineExceeded("a kernel ignores its cancellation");
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(RunStep(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr(kPs)));
    EXPECT_EQ(pool_.ps->steps_run.size(), 1u);
  }
  pool_.ps->fenced = absl::OkStatus();
  EXPECT_THAT(RunStep(), IsOk());
}

TEST_F(FenceTest, AStepOnOtherTasksNeedsNoFence) {
  pool_.ps->status = pool_.ps->resolved = errors::Unavailable("the connection broke");
  EXPECT_THAT(RunStep(), StatusIs(absl::StatusCode::kUnavailable));
  pool_.ps->fenced = errors::DeadlineExceeded("a kernel ignores its cancellation");
  for (int i = 0; i < 2; ++i) EXPECT_THAT(RunStep({"one"}), IsOk());
  EXPECT_THAT(pool_.ps->steps_fenced, IsEmpty());
}

TEST_F(FenceTest, ManyStepsAreFencedInSeveralCalls) {
  SessionTasks tasks({.workers = &pool_, .local_task = kWorker, .session_handle = "t"});
  ASSERT_THAT(tasks.Connect(Soon()), IsOk());
  for (int64_t step = 0; step < 2500; ++step) tasks.AddUnsettledStep(step, {kPs});
  EXPECT_TRUE(tasks.has_unsettled());
  EXPECT_THAT(tasks.EndUnsettledSteps({kWorker}), IsOk());
  EXPECT_TRUE(tasks.has_unsettled());
  EXPECT_THAT(tasks.EndUnsettledSteps({kPs, kWorker}), IsOk());
  EXPECT_FALSE(tasks.has_unsettled());
  EXPECT_THAT(pool_.ps->sizes_of_fences, ElementsAre(1024, 1024, 2500 - 2 * 1024));
  EXPECT_THAT(pool_.worker->sizes_of_fences, IsEmpty());
  EXPECT_THAT(tasks.EndUnsettledSteps({kPs, kWorker}), IsOk());
  EXPECT_EQ(pool_.ps->sizes_of_fences.size(), 3u);  // nothing is left to ask for
}

TEST_F(FenceTest, StepsThatSucceedAskOnlyForTheirCleanup) {
  for (int i = 0; i < 50; ++i) EXPECT_THAT(RunStep(), IsOk());
  session_.reset();
  for (const auto& task : {pool_.ps, pool_.worker}) {
    EXPECT_THAT(task->steps_resolved, IsEmpty());
    EXPECT_THAT(task->sizes_of_fences, IsEmpty());
    EXPECT_EQ(task->steps_cleaned_up(), pool_.ps->steps_run);  // once each, in order
  }
}

TEST_F(FenceTest, AnUnsettledStepIsFencedByOneCallToEachOfItsTasks) {
  pool_.ps->status = pool_.ps->resolved = errors::Unavailable("the connection broke");
  EXPECT_THAT(RunStep(), StatusIs(absl::StatusCode::kUnavailable));
  pool_.ps->status = pool_.ps->resolved = absl::OkStatus();
  for (int i = 0; i < 10; ++i) EXPECT_THAT(RunStep(), IsOk());
  EXPECT_THAT(pool_.ps->sizes_of_fences, ElementsAre(1));
  EXPECT_THAT(pool_.worker->sizes_of_fences, ElementsAre(1));
}

// A task that confirmed its fence is not asked again, although another did not.
TEST_F(FenceTest, AFenceThatFailsIsRepeatedOnceForEachStep) {
  pool_.ps->status = pool_.ps->resolved = errors::Unavailable("the connection broke");
  EXPECT_THAT(RunStep(), StatusIs(absl::StatusCode::kUnavailable));
  pool_.ps->status = pool_.ps->resolved = absl::OkStatus();
  pool_.ps->fenced = errors::DeadlineExceeded("a kernel ignores its cancellation");
  for (int i = 0; i < 3; ++i) EXPECT_THAT(RunStep(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(pool_.ps->sizes_of_fences, ElementsAre(1, 1, 1));
  EXPECT_THAT(pool_.worker->sizes_of_fences, ElementsAre(1));
}

TEST_F(FenceTest, ATaskThatRestartedNeedsNoFence) {
  pool_.ps->status = pool_.ps->resolved = errors::Unavailable("the connection broke");
  EXPECT_THAT(RunStep(), StatusIs(absl::StatusCode::kUnavailable));
  pool_.ps->status = pool_.ps->resolved = absl::OkStatus();
  pool_.ps->incarnation = 12;
  EXPECT_THAT(RunStep(), IsOk());
  EXPECT_THAT(pool_.ps->steps_fenced, IsEmpty());
}

// The restarted coordinator has forgotten its decision, which another task may have received.
TEST_F(FenceTest, AnswersOfARestartedCoordinatorSettleNothing) {
  pool_.ps->status = errors::Unavailable("the connection broke");
  pool_.ps->run_graph = [this](const CallOptions&, const RunGraphArgs&, auto done) {
    pool_.ps->incarnation = 12;
    done(errors::Aborted("the connection broke"));
  };
  EXPECT_THAT(RunStep(), StatusIs(absl::StatusCode::kAborted));
  pool_.ps->incarnation = 11;
  pool_.ps->run_graph = nullptr;
  pool_.ps->status = absl::OkStatus();
  EXPECT_THAT(RunStep(), IsOk());
  EXPECT_EQ(pool_.ps->steps_fenced.size(), 1u);
}

// It waits for the decision of a coordinator that does not answer.
TEST_F(FenceTest, AStepEndsAlthoughTheMastersOwnPartDoesNot) {
  WorkerInterface::ResultCallback<RunGraphResult> own_part, other_part;
  pool_.ps->run_graph = [&](const CallOptions&, const RunGraphArgs&, auto done) { other_part = std::move(done); };
  pool_.worker->run_graph = [&](const CallOptions&, const RunGraphArgs& args, auto done) {
    EXPECT_FALSE(args.caller_waits);
    own_part = std::move(done);
    other_part(errors::Unavailable("the connection broke"));
  };
  pool_.ps->resolved = errors::Unavailable("the connection broke");
  std::future<absl::Status> step = std::async(std::launch::async, [this] {
    return RunStep({"add", "add_u", "add_w"});
  });
  const bool has_ended = step.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
  own_part(RunGraphResult());
  EXPECT_TRUE(has_ended);
  EXPECT_THAT(step.get(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("the connection broke")));
}

TEST_F(FenceTest, ACommittedStepOutlivesItsCaller) {
  CancellationManager caller;
  pool_.ps->committed = true;
  pool_.ps->run_graph = [&](const CallOptions& call, const RunGraphArgs&, auto done) {
    caller.StartCancel(errors::Cancelled("the client has gone"));
    EXPECT_FALSE(call.cancellation->IsCancelled());
    done(RunGraphResult());
  };
  RunStepArgs args;
  args.targets = {"add"};
  CallOptions call = Soon();
  call.cancellation = &caller;
  EXPECT_THAT(session_->Run(call, args), IsOk());
}

TEST_F(FenceTest, ACommittedStepThatATaskDoesNotConfirmSaysSo) {
  pool_.ps->committed = true;
  pool_.worker->status = errors::Unavailable("the connection broke");
  EXPECT_THAT(RunStep(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("updates are committed")));
}

}  // namespace
}  // namespace weir
