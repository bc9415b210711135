// Tests of sessions that a master takes over from its predecessor's journal, and of Reset.
#include "master/master.h"

#include <latch>
#include <thread>

#include "absl/synchronization/notification.h"
#include "core/clock.h"
#include "core/testing.h"
#include "distribute/transport/fake_worker_testing.h"
#include "google/protobuf/text_format.h"
#include "kernels/library.h"
#include "master/journal/memory_journal_store_testing.h"
#include "master/journal/session_journal.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kThisTask[] = "/job:worker/replica:0/task:0";

// Counts the sessions that are opened on it.
class CountingWorker : public FakeWorker {
 public:
  std::atomic<int> sessions{0};

  void CreateWorkerSessionAsync(const CallOptions& options, const tensorflow::CreateWorkerSessionRequest* request,
                                tensorflow::CreateWorkerSessionResponse* response, DoneCallback done) override {
    ++sessions;
    FakeWorker::CreateWorkerSessionAsync(options, request, response, std::move(done));
  }
};

class CountingPool : public WorkerPool {
 public:
  std::shared_ptr<CountingWorker> worker = std::make_shared<CountingWorker>();

  std::vector<std::string> Tasks() const override { return {kThisTask}; }
  absl::StatusOr<std::shared_ptr<WorkerInterface>> Get(absl::string_view) override { return worker; }
};

CallOptions Soon() { return {.deadline = MonotonicNow() + absl::Seconds(30)}; }

tensorflow::CreateSessionRequest Request(const std::string& op = "Identity") {
  tensorflow::CreateSessionRequest request;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      absl::StrCat(R"(
    versions { producer: 1882 }
    node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
    node { name: "y" op: ")",
                   op, R"(" input: "x" attr { key: "T" value { type: DT_FLOAT } } })"),
      request.mutable_graph_def()));
  return request;
}

absl::Status RunStep(Master& master, const std::string& handle) {
  RunStepArgs args{.session_handle = handle, .feeds = {{"x:0", AsScalar<float>(1)}}, .fetches = {"y:0"}};
  return master.RunStep(Soon(), args).status();
}

class MasterAdoptionTest : public ::testing::Test {
 protected:
  MasterAdoptionTest() {
    EXPECT_THAT(RegisterAllOps(ops_), IsOk());
    EXPECT_THAT(RegisterAllKernels(kernels_), IsOk());
    options_ = {.local_task = kThisTask, .workers = &pool_, .ops = &ops_, .kernels = &kernels_};
  }
  void SetUp() override { Restart(); }

  void Restart() {
    master_.reset();
    journal_.reset();
    ASSERT_OK_AND_ASSIGN(journal_,
                         SessionJournal::Open(std::make_unique<MemoryJournalStore>(&disk_), {.task = kThisTask}));
    options_.journal = journal_.get();
    master_ = std::make_unique<Master>(options_);
  }
  std::string Create() {
    tensorflow::CreateSessionResponse response;
    EXPECT_THAT(master_->CreateSession(Soon(), Request(), &response), IsOk());
    return response.session_handle();
  }
  absl::Status RunStep(const std::string& handle) { return weir::RunStep(*master_, handle); }

  MemoryDisk disk_;
  OpRegistry ops_;
  KernelRegistry kernels_;
  CountingPool pool_;
  std::unique_ptr<SessionJournal> journal_;
  Master::Options options_;
  std::unique_ptr<Master> master_;
};

TEST_F(MasterAdoptionTest, CallsAtOnceTakeASessionOverOnce) {
  const std::string handle = Create();
  Restart();
  pool_.worker->sessions = 0;
  std::vector<std::thread> threads;
  std::atomic<int> ran{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { ran += RunStep(handle).ok() ? 1 : 0; });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ran, 8);
  EXPECT_EQ(pool_.worker->sessions, 1);
}

TEST_F(MasterAdoptionTest, ASessionWaitsForItsTasks) {
  const std::string handle = Create();
  options_.adoption_timeout = absl::Milliseconds(1);
  Restart();
  pool_.worker->status = errors::Unavailable("gone");
  EXPECT_THAT(RunStep(handle), StatusIs(absl::StatusCode::kUnavailable, HasSubstr(kThisTask)));
  pool_.worker->status = absl::OkStatus();
  EXPECT_THAT(RunStep(handle), IsOk());
}

TEST_F(MasterAdoptionTest, AGraphThatThisBuildCannotReadIsALostSession) {
  ASSERT_THAT(journal_->AddSession("a", Request("OpOfAnotherBuild")), IsOk());
  Restart();
  EXPECT_THAT(RunStep("a"), StatusIs(absl::StatusCode::kAborted, HasSubstr("OpOfAnotherBuild")));
  EXPECT_THAT(RunStep("a"), StatusIs(absl::StatusCode::kAborted, HasSubstr("Session a is not found.")));
  EXPECT_THAT(journal_->Handles(), IsEmpty());
}

TEST_F(MasterAdoptionTest, ASessionThatCannotBeRecordedIsServed) {
  disk_.room = 0;
  const std::string handle = Create();
  EXPECT_THAT(RunStep(handle), IsOk());
  disk_.room = std::string::npos;
  Restart();
  EXPECT_THAT(RunStep(handle), StatusIs(absl::StatusCode::kAborted, HasSubstr("is not found.")));
}

TEST_F(MasterAdoptionTest, AnExtensionThatCannotBeRecordedIsNotMade) {
  const std::string handle = Create();
  tensorflow::ExtendSessionRequest request;
  tensorflow::ExtendSessionResponse response;
  request.set_session_handle(handle);
  *request.mutable_graph_def()->mutable_versions() = Request().graph_def().versions();
  request.mutable_graph_def()->add_node()->set_name("z");
  request.mutable_graph_def()->mutable_node(0)->set_op("NoOp");
  disk_.room = 0;
  EXPECT_THAT(master_->ExtendSession(Soon(), request, &response), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(RunStep(handle), IsOk());
  disk_.room = std::string::npos;
  EXPECT_THAT(master_->ExtendSession(Soon(), request, &response), IsOk());
  EXPECT_EQ(response.new_graph_version(), 1);
}

TEST_F(MasterAdoptionTest, ResetEndsRecordedSessions) {
  const std::string handle = Create();
  Restart();
  tensorflow::ResetRequest request;
  tensorflow::ResetResponse response;
  ASSERT_THAT(master_->Reset(Soon(), request, &response), IsOk());
  EXPECT_THAT(RunStep(handle), StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(journal_->Handles(), IsEmpty());
}

TEST_F(MasterAdoptionTest, SessionsThatNobodyClaimsAreDropped) {
  const std::string claimed = Create();
  Create();
  options_.adoption_window = absl::ZeroDuration();
  Restart();
  ASSERT_THAT(RunStep(claimed), IsOk());
  const std::string created = Create();
  EXPECT_THAT(journal_->Handles(), ::testing::UnorderedElementsAre(claimed, created));
}

// Each session's step ends once the steps of both are cancelled.
TEST(MasterResetTest, SessionsEndTheirStepsAtTheSameTime) {
  OpRegistry ops;
  KernelRegistry kernels;
  ASSERT_THAT(RegisterAllOps(ops), IsOk());
  ASSERT_THAT(RegisterAllKernels(kernels), IsOk());
  constexpr int kSessions = 2;
  std::latch begun(kSessions), cancelled(kSessions);
  CountingPool pool;
  pool.worker->run_graph = [&](const CallOptions& call, const RunGraphArgs&, auto done) {
    begun.count_down();
    absl::Notification is_cancelled;
    const auto token = call.cancellation->Register([&] { is_cancelled.Notify(); });
    if (token != CancellationManager::kInvalidToken) is_cancelled.WaitForNotification();
    cancelled.arrive_and_wait();
    done(call.cancellation->status());
  };
  Master master({.local_task = kThisTask, .workers = &pool, .ops = &ops, .kernels = &kernels});
  std::vector<std::thread> steps;
  for (int i = 0; i < kSessions; ++i) {
    tensorflow::CreateSessionResponse response;
    ASSERT_THAT(master.CreateSession({}, Request(), &response), IsOk());
    steps.emplace_back([&master, handle = response.session_handle()] { RunStep(master, handle).IgnoreError(); });
  }
  begun.wait();
  tensorflow::ResetRequest request;
  tensorflow::ResetResponse response;
  EXPECT_THAT(master.Reset({}, request, &response), IsOk());
  for (std::thread& step : steps) step.join();
}

}  // namespace
}  // namespace weir
