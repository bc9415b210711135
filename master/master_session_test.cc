#include "master/master_session.h"

#include <future>

#include "core/clock.h"
#include "core/testing.h"
#include "distribute/transport/fake_worker_testing.h"
#include "distribute/transport/lost_graph.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "kernels/library.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kTask[] = "/job:worker/replica:0/task:0";

// Keeps registered graphs until Forget.
class ForgetfulWorker : public FakeWorker {
 public:
  ForgetfulWorker() {
    run_graph = [this](const CallOptions&, const RunGraphArgs& args, ResultCallback<RunGraphResult> done) {
      if (args.graph_handle != known_) return done(GraphIsLost(args.graph_handle));
      done(RunGraphResult{.fetches = args.feeds});
    };
  }

  void Forget() { known_.clear(); }
  absl::Status registers;
  int registrations() const { return registrations_; }

  void GetStepWaitsAsync(const CallOptions&, const GetStepWaitsRequest* request, GetStepWaitsResponse* response,
                         DoneCallback done) override {
    for (const int64_t step_id : request->step_id()) {
      StepWait* const wait = response->add_wait();
      wait->set_step_id(step_id);
      wait->set_node("late");
      wait->set_op("Stubborn");
      wait->set_device("the device");
      wait->set_shared_object("queue 'q'");
    }
    done(absl::OkStatus());
  }
  void RegisterGraphAsync(const CallOptions&, std::shared_ptr<const RegisterGraphArgs>,
                          ResultCallback<std::string> done) override {
    if (!registers.ok()) return done(registers);
    known_ = absl::StrCat("graph", ++registrations_);
    done(known_);
  }

 private:
  std::string known_;
  int registrations_ = 0;
};

class OneWorker : public WorkerPool {
 public:
  std::shared_ptr<ForgetfulWorker> worker = std::make_shared<ForgetfulWorker>();

  std::vector<std::string> Tasks() const override { return {kTask}; }
  absl::StatusOr<std::shared_ptr<WorkerInterface>> Get(absl::string_view) override { return worker; }
};

class MasterSessionTest : public testing::Test {
 protected:
  MasterSessionTest() {
    EXPECT_THAT(RegisterAllOps(ops_), IsOk());
    EXPECT_THAT(RegisterAllKernels(kernels_), IsOk());
    MasterSession::Options options{.handle = "s", .ops = &ops_, .kernels = &kernels_, .timers = &timers_};
    options.tasks = {.workers = &pool_, .local_task = kTask, .session_handle = "s"};
    session_ = std::make_unique<MasterSession>(std::move(options));
    tensorflow::GraphDef graph;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(R"(
      versions { producer: 1882 }
      node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
      node { name: "y" op: "Identity" input: "x" attr { key: "T" value { type: DT_FLOAT } } })",
                                                              &graph));
    EXPECT_THAT(session_->Create(Soon(), graph), IsOk());
  }

  static CallOptions Soon() { return {.deadline = MonotonicNow() + absl::Seconds(30)}; }
  absl::Status RunStep() {
    RunStepArgs args;
    args.feeds = {{"x:0", AsScalar<float>(1)}};
    args.fetches = {"y:0"};
    return session_->Run(Soon(), args).status();
  }

  OpRegistry ops_;
  KernelRegistry kernels_;
  TimerQueue timers_;
  OneWorker pool_;
  std::unique_ptr<MasterSession> session_;
};

TEST_F(MasterSessionTest, AGraphThatAWorkerLostIsRegisteredAnew) {
  ASSERT_THAT(RunStep(), IsOk());
  ASSERT_THAT(RunStep(), IsOk());
  EXPECT_EQ(pool_.worker->registrations(), 1);
  pool_.worker->Forget();
  EXPECT_THAT(RunStep(), StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(RunStep(), IsOk());
  EXPECT_EQ(pool_.worker->registrations(), 2);
}

TEST_F(MasterSessionTest, ACallableWhoseGraphAWorkerLostRunsAgain) {
  tensorflow::MakeCallableRequest request;
  request.mutable_options()->add_feed("x:0");
  request.mutable_options()->add_fetch("y:0");
  tensorflow::MakeCallableResponse response;
  ASSERT_THAT(session_->MakeCallable({}, request, &response), IsOk());
  RunCallableArgs args{.handle = response.handle(), .feeds = {AsScalar<float>(1)}};
  ASSERT_THAT(session_->RunCallable(Soon(), args), IsOk());
  pool_.worker->Forget();
  EXPECT_THAT(session_->RunCallable(Soon(), args), StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(session_->RunCallable(Soon(), args), IsOk());
}

TEST_F(MasterSessionTest, AClosedSessionBeginsNothing) {
  EXPECT_THAT(session_->Close(), IsOk());
  EXPECT_THAT(RunStep(), StatusIs(absl::StatusCode::kFailedPrecondition));
  tensorflow::PartialRunSetupRequest request;
  request.add_feed("x:0");
  request.add_fetch("y:0");
  tensorflow::PartialRunSetupResponse response;
  EXPECT_THAT(session_->PartialRunSetup({}, request, &response), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(session_->Close(), IsOk());
}

TEST_F(MasterSessionTest, PartialRunsEndWithoutTheirSession) {
  tensorflow::PartialRunSetupRequest request;
  request.add_feed("x:0");
  request.add_fetch("y:0");
  tensorflow::PartialRunSetupResponse response;
  ASSERT_THAT(session_->PartialRunSetup({}, request, &response), IsOk());
  EXPECT_EQ(session_->RunningSteps(absl::InfiniteFuture()).size(), 1);
  session_->EndPartialRuns();
  EXPECT_TRUE(session_->RunningSteps(absl::InfiniteFuture()).empty());
  RunStepArgs args{.partial_run_handle = response.partial_run_handle()};
  EXPECT_THAT(session_->Run(Soon(), args), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(RunStep(), IsOk());
}

TEST_F(MasterSessionTest, CloseNamesTheTaskAndTheKernelThatIgnoreIt) {
  std::promise<ForgetfulWorker::ResultCallback<RunGraphResult>> running;
  pool_.worker->run_graph = [&](const CallOptions&, const RunGraphArgs&, auto done) {
    running.set_value(std::move(done));
  };
  auto step = std::async(std::launch::async, [this] { return RunStep(); });
  const auto finish = running.get_future().get();
  EXPECT_THAT(session_->Close(absl::Milliseconds(20)),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       AllOf(HasSubstr(kTask), HasSubstr("in node 'late' (Stubborn) on the device at queue 'q'"))));
  finish(errors::Cancelled("at last"));
  EXPECT_THAT(step.get(), StatusIs(absl::StatusCode::kCancelled, HasSubstr("Session::Close()")));
}

TEST_F(MasterSessionTest, AGraphIsNotPreparedAfterTheStepsDeadline) {
  RunStepArgs args;
  args.feeds = {{"x:0", AsScalar<float>(1)}};
  args.fetches = {"y:0"};
  EXPECT_THAT(session_->Run({.deadline = MonotonicNow() - absl::Seconds(1)}, args),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("while its graph was prepared")));
  CancellationManager gone;
  gone.StartCancel(errors::Cancelled("The client has gone"));
  EXPECT_THAT(session_->Run({.cancellation = &gone}, args),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("The client has gone")));
  EXPECT_EQ(pool_.worker->registrations(), 0);
}

TEST_F(MasterSessionTest, AGraphThatIsNotRegisteredInTheStepsTimeTimesOutInTensorFlowsWords) {
  pool_.worker->registers = errors::DeadlineExceeded("RegisterGraph did not end");
  RunStepArgs args{.fetches = {"y:0"}};
  args.feeds = {{"x:0", AsScalar<float>(1)}};
  args.options.set_timeout_in_ms(20'000);
  EXPECT_THAT(session_->Run({.deadline = MonotonicNow() + absl::Minutes(1)}, args).status(),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       AllOf(HasSubstr("Timed out waiting for notification"), HasSubstr("RegisterGraph did not end"))));
}

}  // namespace
}  // namespace weir
