// The master's task is killed, with and without a journal, and its clients go on.
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "absl/strings/match.h"
#include "client/initializers.h"
#include "client/ops.h"
#include "client/session.h"
#include "client/training_loop.h"
#include "core/clock.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"
#include "distribute/cluster/process_cluster.h"
#include "distribute/transport/grpc_channel.h"
#include "distribute/transport/grpc_master_client.h"
#include "distribute/transport/request_log.h"
#include "distribute/transport/wire_format.h"
#include "master/journal/journal_file.h"
#include "master/journal/session_journal.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kPs[] = "/job:ps/task:0", kMaster[] = "/job:worker/task:0";
constexpr absl::Duration kPatience = absl::Seconds(60);

class DoAtStep : public TrainingHook {
 public:
  DoAtStep(int64_t step, std::function<void()> action) : step_(step), action_(std::move(action)) {}
  absl::StatusOr<bool> AfterStep(Session&, const StepReport& report) override {
    if (report.global_step == step_ && !std::exchange(done_, true)) action_();
    return false;
  }
  void Recovered(const RecoveryReport& report) override { recoveries.push_back(report); }

  std::vector<RecoveryReport> recoveries;

 private:
  const int64_t step_;
  const std::function<void()> action_;
  bool done_ = false;
};

class MasterLossTest : public ::testing::Test {
 protected:
  void StartCluster(bool journal, bool restart = false) {
    ProcessCluster::Options options{.program = WEIR_PROGRAM, .jobs = {{"worker", 1}, {"ps", 1}}, .restart = restart};
    if (journal) options.flags = {"--journal", directory_.Path("journal")};
    ASSERT_OK_AND_ASSIGN(cluster_, ProcessCluster::Start(options));
  }
  // The servers that were killed leave their logs of requests.
  void TearDown() override {
    if (HasFailure()) ADD_FAILURE() << cluster_->Log("worker", 0) << cluster_->Log("ps", 0);
    cluster_.reset();
    for (const char* job : {"worker", "ps"}) {
      if (!std::filesystem::exists(directory_.Path("journal"))) continue;
      ASSERT_OK_AND_ASSIGN(auto journal, OpenJournal(job));
      unlink(RequestLog::PathFor(journal->id()).c_str());
    }
  }
  absl::StatusOr<std::unique_ptr<SessionJournal>> OpenJournal(const std::string& job) {
    ASSIGN_OR_RETURN(auto file, JournalFile::Open(directory_.Path("journal"), absl::StrCat(job, "-0")));
    return SessionJournal::Open(std::move(file), {.task = absl::StrCat("/job:", job, "/replica:0/task:0")});
  }
  void KillAndRestartMaster() {
    cluster_->Kill("worker", 0);
    ASSERT_THAT(cluster_->Restart("worker", 0), IsOk());
  }
  std::string Target() { return cluster_->Target("worker", 0); }
  // Its calls fail until the channel is connected again.
  template <typename Call>
  auto Eventually(const Call& call) {
    auto result = call();
    for (const absl::Time end = MonotonicNow() + kPatience;
         !result.ok() && absl::IsUnavailable(result.status()) && MonotonicNow() < end;) {
      result = call();
    }
    return result;
  }

  ScratchDirectory directory_;
  std::unique_ptr<ProcessCluster> cluster_;
};

// The variable and the sum of the steps' numbers are on the parameter server. Some work of each step is the master's.
class TrainingUnderLossTest : public MasterLossTest, public ::testing::WithParamInterface<bool> {
 protected:
  void Build(const Scope& scope_of_total) {
    step_ = GlobalStep(scope_.WithDevice(kPs));
    total_ = ResourceVariable::Make(scope_of_total.WithName("total"), TensorShape(), DT_FLOAT, initializers::Zeros());
    const Output one = ops::Identity(scope_.WithDevice(kMaster), scope_.Constant(1.0f));
    const Operation add = total_.AssignAdd(scope_of_total, one);
    options_.train = step_.AssignAdd(scope_.WithDevice(kPs).WithControlDependencies({add}), int64_t{1});
    options_.global_step = step_;
    options_.max_steps = 60;
    options_.recovery_timeout = kPatience;
  }
  absl::StatusOr<int64_t> Train() {
    hook_ = std::make_shared<DoAtStep>(20, [this] { cluster_->Kill("worker", 0); });
    options_.hooks = {hook_};
    TrainingLoop loop(scope_, options_);
    ASSIGN_OR_RETURN(session_, Session::Connect(Target(), scope_));
    return loop.Run(*session_);
  }
  float Total() { return session_->Run({total_.value()}).value()[0].scalar<float>(); }

  Scope scope_ = Scope::NewRoot();
  ResourceVariable step_, total_;
  TrainingLoopOptions options_;
  std::shared_ptr<DoAtStep> hook_;
  std::unique_ptr<Session> session_;
};

TEST_P(TrainingUnderLossTest, GoesOnFromTheParameterServers) {
  StartCluster(GetParam(), /*restart=*/true);
  Build(scope_.WithDevice(kPs));
  ASSERT_OK_AND_ASSIGN(const int64_t reached, Train());
  EXPECT_EQ(reached, 60);
  EXPECT_EQ(Total(), 60);
  ASSERT_EQ(hook_->recoveries.size(), 1);
  EXPECT_EQ(hook_->recoveries[0].restored_from, "");
  EXPECT_EQ(hook_->recoveries[0].resumed_at, 20);
  EXPECT_THAT(session_->Close(), IsOk());
}

TEST_P(TrainingUnderLossTest, RestoresWhatWasLostWithTheMaster) {
  StartCluster(GetParam(), /*restart=*/true);
  Build(scope_.WithDevice(kMaster));
  options_.checkpoint_dir = directory_.Path("checkpoints");
  options_.checkpoint_steps = 8;
  ASSERT_OK_AND_ASSIGN(const int64_t reached, Train());
  EXPECT_EQ(reached, 60);
  EXPECT_EQ(Total(), 60);
  ASSERT_EQ(hook_->recoveries.size(), 1);
  EXPECT_EQ(hook_->recoveries[0].resumed_at, 16);
}

INSTANTIATE_TEST_SUITE_P(Journals, TrainingUnderLossTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "WithJournal" : "WithoutJournal"; });

// Calls of a master as any client of the protocol makes them.
class JournalledMasterTest : public MasterLossTest {
 protected:
  void SetUp() override {
    StartCluster(/*journal=*/true);
    if (HasFatalFailure()) return;
    master_ =
        std::make_unique<GrpcMasterClient>(GrpcChannelOptions{.address = *cluster_->spec().AddressOf("worker", 0)});
    count_ = ResourceVariable::Make(scope_.WithDevice(kPs).WithName("count"), TensorShape(), DT_FLOAT,
                                    initializers::Zeros());
    add_ = count_.AssignAdd(scope_.WithDevice(kPs), ops::Identity(scope_.WithDevice(kMaster), scope_.Constant(1.0f)));
    tensorflow::CreateSessionRequest request;
    *request.mutable_graph_def() = scope_.ToGraphDef();
    tensorflow::CreateSessionResponse response;
    ASSERT_THAT(master_->CreateSession(Soon(), request, &response), IsOk());
    handle_ = response.session_handle();
    ASSERT_THAT(Run({}, {count_.initializer().name()}), IsOk());
  }

  static CallOptions Soon() { return {.deadline = MonotonicNow() + kPatience}; }
  absl::StatusOr<RunStepResult> Run(const std::vector<std::string>& fetches, const std::vector<std::string>& targets,
                                    int64_t request_id = 0) {
    return Eventually([&] {
      return master_->RunStep(
          Soon(), {.session_handle = handle_, .fetches = fetches, .targets = targets, .request_id = request_id});
    });
  }
  float Count() {
    const auto result = Run({count_.value().name()}, {});
    EXPECT_THAT(result, IsOk());
    return result.ok() ? result->fetches[0].scalar<float>() : -1;
  }

  Scope scope_ = Scope::NewRoot();
  ResourceVariable count_;
  Operation add_;
  std::unique_ptr<GrpcMasterClient> master_;
  std::string handle_;
};

TEST_F(JournalledMasterTest, TheSameHandleServesAfterEveryRestart) {
  ASSERT_THAT(Run({}, {add_.name()}), IsOk());
  for (int restart = 1; restart <= 3; ++restart) {
    KillAndRestartMaster();
    ASSERT_THAT(Run({}, {add_.name()}), IsOk());
    EXPECT_EQ(Count(), 1 + restart);
  }
}

TEST_F(JournalledMasterTest, ExtensionsAndCallablesAreKept) {
  tensorflow::ExtendSessionRequest extension;
  extension.set_session_handle(handle_);
  const int known = scope_.ToGraphDef().node_size();
  const Operation more = count_.AssignAdd(scope_.WithDevice(kPs), 10.0f);
  *extension.mutable_graph_def() = scope_.ToGraphDef();
  extension.mutable_graph_def()->mutable_node()->DeleteSubrange(0, known);
  tensorflow::ExtendSessionResponse extended;
  ASSERT_THAT(master_->ExtendSession(Soon(), extension, &extended), IsOk());
  tensorflow::MakeCallableRequest make;
  make.set_session_handle(handle_);
  make.mutable_options()->add_target(more.name());
  tensorflow::MakeCallableResponse made;
  ASSERT_THAT(master_->MakeCallable(Soon(), make, &made), IsOk());
  KillAndRestartMaster();
  EXPECT_THAT(
      Eventually([&] { return master_->RunCallable(Soon(), {.session_handle = handle_, .handle = made.handle()}); }),
      IsOk());
  ASSERT_THAT(Run({}, {more.name()}), IsOk());
  EXPECT_EQ(Count(), 20);
  tensorflow::MakeCallableResponse second;
  ASSERT_THAT(master_->MakeCallable(Soon(), make, &second), IsOk());
  EXPECT_NE(second.handle(), made.handle());
  extension.set_current_graph_version(1);
  extension.mutable_graph_def()->mutable_node(0)->set_name("another");
  extension.mutable_graph_def()->mutable_node()->DeleteSubrange(1, extension.graph_def().node_size() - 1);
  ASSERT_THAT(master_->ExtendSession(Soon(), extension, &extended), IsOk());
  EXPECT_EQ(extended.new_graph_version(), 2);
}

TEST_F(JournalledMasterTest, ARequestThatTheEarlierMasterReceivedIsNotRunAgain) {
  ASSERT_THAT(Run({}, {add_.name()}, 12345), IsOk());
  KillAndRestartMaster();
  EXPECT_THAT(Run({}, {add_.name()}, 12345),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("received before this master restarted")));
  ASSERT_THAT(Run({}, {add_.name()}), IsOk());
  EXPECT_EQ(Count(), 2);
}

TEST_F(JournalledMasterTest, AStepInFlightEndsAndIsNotRunAgain) {
  // It waits for an element that nobody enqueues, after it has counted.
  const Scope on_ps = scope_.WithDevice(kPs);
  const Output queue = ops::FIFOQueueV2(on_ps, {DT_FLOAT}, {.shared_name = "never filled"});
  const Operation stuck =
      ops::QueueDequeueV2(on_ps.WithName("stuck").WithControlDependencies({add_}), queue, {DT_FLOAT})[0].op();
  tensorflow::CreateSessionRequest request;
  *request.mutable_graph_def() = scope_.ToGraphDef();
  tensorflow::CreateSessionResponse response;
  ASSERT_THAT(master_->CreateSession(Soon(), request, &response), IsOk());
  handle_ = response.session_handle();
  std::thread killer([this] {
    while (Count() == 0) {
    }
    cluster_->Kill("worker", 0);
  });
  RunStepArgs args{.session_handle = handle_, .targets = {stuck.name()}, .request_id = 77};
  EXPECT_THAT(master_->RunStep(Soon(), args), StatusIs(absl::StatusCode::kUnavailable));
  killer.join();
  ASSERT_THAT(cluster_->Restart("worker", 0), IsOk());
  EXPECT_THAT(Run({}, {stuck.name()}, 77), StatusIs(absl::StatusCode::kAborted));
  EXPECT_EQ(Count(), 1);
}

TEST_F(JournalledMasterTest, AClosedSessionStaysClosed) {
  tensorflow::CloseSessionRequest request;
  request.set_session_handle(handle_);
  tensorflow::CloseSessionResponse response;
  ASSERT_THAT(master_->CloseSession(Soon(), request, &response), IsOk());
  KillAndRestartMaster();
  EXPECT_THAT(Run({}, {add_.name()}), StatusIs(absl::StatusCode::kAborted, HasSubstr("is not found")));
}

TEST_F(JournalledMasterTest, ASessionMayBeClosedByItsHandleAfterARestart) {
  KillAndRestartMaster();
  tensorflow::CloseSessionRequest request;
  request.set_session_handle(handle_);
  tensorflow::CloseSessionResponse response;
  EXPECT_THAT(Eventually([&]() -> absl::StatusOr<int> {
                RETURN_IF_ERROR(master_->CloseSession(Soon(), request, &response));
                return 0;
              }),
              IsOk());
  EXPECT_THAT(Run({}, {add_.name()}), StatusIs(absl::StatusCode::kAborted, HasSubstr("is not found")));
}

TEST_F(JournalledMasterTest, AnOrderlyStopKeepsTheSessions) {
  ASSERT_THAT(Run({}, {add_.name()}), IsOk());
  ASSERT_OK_AND_ASSIGN(const int code, cluster_->Terminate("worker", 0));
  EXPECT_EQ(code, 0);
  ASSERT_THAT(cluster_->Restart("worker", 0), IsOk());
  EXPECT_EQ(Count(), 1);
}

// As after a restart of the machine, whose shared memory is empty.
TEST_F(JournalledMasterTest, WithoutTheLogOfRequestsSessionsAreDropped) {
  cluster_->Kill("worker", 0);
  {
    ASSERT_OK_AND_ASSIGN(const auto journal, OpenJournal("worker"));
    EXPECT_THAT(journal->Handles(), ElementsAre(handle_));
    ASSERT_EQ(unlink(RequestLog::PathFor(journal->id()).c_str()), 0);
  }
  ASSERT_THAT(cluster_->Restart("worker", 0), IsOk());
  EXPECT_THAT(Run({}, {add_.name()}), StatusIs(absl::StatusCode::kAborted, HasSubstr("is not found")));
}

TEST_F(JournalledMasterTest, ADamagedJournalIsNamedAtTheStart) {
  cluster_->Kill("worker", 0);
  const std::string path = directory_.Path("journal/worker-0.journal");
  std::string bytes;
  {
    const auto files = NewPosixFileSystem();
    ASSERT_OK_AND_ASSIGN(bytes, ReadFileToString(files.get(), path));
    std::string damaged = bytes;
    damaged[20] ^= 1;
    ASSERT_THAT(WriteStringToFile(files.get(), path, damaged), IsOk());
  }
  EXPECT_THAT(cluster_->Restart("worker", 0), Not(IsOk()));
  EXPECT_THAT(cluster_->Log("worker", 0), HasSubstr("Move the file away to start without its sessions"));
  const auto files = NewPosixFileSystem();
  ASSERT_THAT(WriteStringToFile(files.get(), path, bytes), IsOk());
  ASSERT_THAT(cluster_->Restart("worker", 0), IsOk());
  EXPECT_EQ(Count(), 0);
}

TEST_F(JournalledMasterTest, ClosedSessionsLeaveNothingBehind) {
  tensorflow::CloseSessionRequest request;
  request.set_session_handle(handle_);
  tensorflow::CloseSessionResponse response;
  ASSERT_THAT(master_->CloseSession(Soon(), request, &response), IsOk());
  ASSERT_THAT(cluster_->Terminate("worker", 0), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto journal, OpenJournal("worker"));
  EXPECT_THAT(journal->Handles(), IsEmpty());
  EXPECT_NE(access(RequestLog::PathFor(journal->id()).c_str(), F_OK), 0);
}

}  // namespace
}  // namespace weir
