// Clusters of real processes whose tasks come and go while sessions run.
#include <signal.h>

#include <future>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "client/data/dataset.h"
#include "client/ops.h"
#include "client/session.h"
#include "core/clock.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"
#include "distribute/cluster/joined_server.h"
#include "distribute/cluster/process_cluster.h"
#include "distribute/membership/cluster_view.h"
#include "distribute/transport/grpc_channel.h"
#include "distribute/transport/membership/membership_client.h"
#include "tensorflow/core/protobuf/config.pb.h"
#include "tensorflow/core/protobuf/master.pb.h"
#include "tests/command_line/weir_output.h"
#include "tests/watch/metrics_testing.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kPs[] = "/job:ps/task:0", kWorker0[] = "/job:worker/task:0", kWorker1[] = "/job:worker/task:1",
               kWorker2[] = "/job:worker/task:2";

class MembershipTest : public testing::Test {
 protected:
  void Start(std::vector<std::string> flags = {}) {
    ASSERT_OK_AND_ASSIGN(cluster_, ProcessCluster::Start({.program = WEIR_PROGRAM,
                                                          .jobs = {{"chief", 1}, {"ps", 1}, {"worker", 1}},
                                                          .flags = std::move(flags)}));
  }
  std::string Target(const std::string& job = "chief") const { return cluster_->Target(job, 0); }

  absl::StatusOr<std::unique_ptr<JoinedServer>> TryToJoin(const std::vector<std::string>& flags,
                                                          const std::string& through) {
    return JoinedServer::Start({.program = WEIR_PROGRAM,
                                .job = "worker",
                                .target = Target(through),
                                .flags = flags,
                                .directory = directory_.path(),
                                .name = absl::StrCat("joined_", ++joined_)});
  }
  // A worker that has joined.
  std::unique_ptr<JoinedServer> Join(const std::vector<std::string>& flags = {}, const std::string& through = "ps") {
    auto joined = TryToJoin(flags, through);
    EXPECT_THAT(joined.status(), IsOk());
    return *std::move(joined);
  }

  ClusterView View(const std::string& job = "chief") const {
    MembershipClient client(*cluster_->spec().AddressOf(job, 0));
    absl::StatusOr<ClusterView> view = client.GetView({.deadline = MonotonicNow() + absl::Seconds(30)});
    EXPECT_THAT(view.status(), IsOk());
    return view.value_or(ClusterView());
  }
  bool Has(const std::string& job, const char* task) const {
    return FindMember(View(job), absl::StrReplaceAll(task, {{"/task", "/replica:0/task"}})) != nullptr;
  }
  // Whether a task comes to know that another is there, or not.
  bool Comes(const std::string& job, const char* task, bool is_there) const {
    const absl::Time deadline = MonotonicNow() + absl::Seconds(60);
    while (Has(job, task) != is_there) {
      if (MonotonicNow() > deadline) return false;
    }
    return true;
  }

  // A session of the chief with `scope_`.
  void Connect() { ASSERT_OK_AND_ASSIGN(session_, Session::Connect(Target(), scope_)); }
  // Adds one to the fed value on `device`.
  Output PlusOne(const char* device, const std::string& name) {
    return ops::Add(scope_.WithDevice(device).WithName(name), x_, 1.0f);
  }
  absl::StatusOr<float> Run(const Output& output) {
    ASSIGN_OR_RETURN(const std::vector<Tensor> results, session_->Run({{x_, AsScalar<float>(1)}}, {output}));
    return results.at(0).scalar<float>();
  }
  float Value(const Output& output) {
    const absl::StatusOr<float> result = Run(output);
    EXPECT_THAT(result.status(), IsOk());
    return result.value_or(0);
  }
  // Runs until the step succeeds, for a minute.
  float RunUntilItWorks(const Output& output) {
    const absl::Time deadline = MonotonicNow() + absl::Seconds(60);
    absl::StatusOr<float> result = Run(output);
    while (!result.ok() && MonotonicNow() < deadline) result = Run(output);
    EXPECT_THAT(result.status(), IsOk());
    return result.value_or(0);
  }

  ScratchDirectory directory_;
  int joined_ = 0;
  std::unique_ptr<ProcessCluster> cluster_;
  Scope scope_ = Scope::NewRoot();
  Output x_ = ops::Placeholder(scope_.WithDevice(kPs).WithName("x"), DT_FLOAT, {.shape = TensorShape()});
  std::unique_ptr<Session> session_;
};

TEST_F(MembershipTest, ARunningSessionUsesATaskThatJoins) {
  Start();
  const Output first = PlusOne(kWorker0, "first");
  Connect();
  EXPECT_EQ(Value(first), 2);
  const auto joined = Join();
  const Output second = ops::Add(scope_.WithDevice(kWorker1), PlusOne(kWorker0, "a"), PlusOne(kPs, "b"));
  EXPECT_EQ(Value(second), 4);
  EXPECT_EQ(Value(first), 2);
  const auto another = Join({}, "worker");
  // From one new task to the other, and back.
  const Output third =
      ops::Mul(scope_.WithDevice(kWorker1), ops::Mul(scope_.WithDevice(kWorker2), second, second), 2.0f);
  EXPECT_EQ(Value(third), 32);
  for (const char* job : {"chief", "ps", "worker"}) {
    EXPECT_TRUE(Has(job, kWorker1)) << job;
    EXPECT_TRUE(Has(job, kWorker2)) << job;
  }
}

TEST_F(MembershipTest, ANodeOfATaskThatIsStillToComeRunsOnceItIsThere) {
  Start();
  const Output early = PlusOne(kWorker1, "early");
  Connect();
  EXPECT_THAT(Run(early).status(), Not(IsOk()));
  const auto joined = Join();
  EXPECT_EQ(Value(early), 2);
}

TEST_F(MembershipTest, AMachineTakesADeadOnesPlaceUnderAnotherAddress) {
  Start();
  const Output sum = ops::Add(scope_.WithDevice(kPs), PlusOne(kWorker0, "a"), 1.0f);
  Connect();
  EXPECT_EQ(Value(sum), 3);
  cluster_->Kill("worker", 0);
  EXPECT_THAT(Run(sum).status(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("/job:worker/replica:0/task:0")));
  const auto joined = Join({"--index", "0"});
  EXPECT_NE(joined->address(), *cluster_->spec().AddressOf("worker", 0));
  EXPECT_EQ(RunUntilItWorks(sum), 3);
}

TEST_F(MembershipTest, ATaskThatAnswersIsNotReplaced) {
  Start();
  EXPECT_THAT(TryToJoin({"--index", "0"}, "chief").status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("/job:worker/replica:0/task:0 at "), HasSubstr("has answered"))));
  EXPECT_EQ(View().epoch(), 0);
}

TEST_F(MembershipTest, ATaskThatIsStoppedLeaves) {
  Start();
  Connect();
  const auto joined = Join();
  const Output sum = PlusOne(kWorker1, "sum");
  EXPECT_EQ(Value(sum), 2);
  ASSERT_OK_AND_ASSIGN(const int code, joined->process().Terminate(absl::Seconds(15)));
  EXPECT_EQ(code, 0);
  EXPECT_FALSE(Has("chief", kWorker1));
  EXPECT_THAT(Run(sum).status(), StatusIs(absl::StatusCode::kNotFound, HasSubstr("has left the cluster")));
  EXPECT_EQ(Value(PlusOne(kWorker0, "other")), 2);
}

TEST_F(MembershipTest, ATaskThatIsKilledIsRemovedAfterItsLease) {
  Start({"--member-lease", "2s"});
  const auto joined = Join();
  joined->process().Kill();
  for (const char* job : {"chief", "ps", "worker"}) EXPECT_TRUE(Comes(job, kWorker1, false)) << job;
  // The place is free.
  const auto next = Join();
  EXPECT_TRUE(Has("ps", kWorker1));
}

TEST_F(MembershipTest, TheMembersOutliveTheRegistrarsProcess) {
  Start();
  const auto joined = Join();
  const int64_t epoch = View("ps").epoch();
  cluster_->Kill("chief", 0);
  ASSERT_THAT(cluster_->Restart("chief", 0), IsOk());
  const auto another = Join();
  EXPECT_GT(View().epoch(), epoch);
  const Output sum = ops::Add(scope_.WithDevice(kWorker2), PlusOne(kWorker1, "a"), 1.0f);
  Connect();
  EXPECT_EQ(Value(sum), 3);
}

TEST_F(MembershipTest, TheRegistrarAsksWhoHasNotStartedWithoutHarmToOthersCalls) {
  Start();
  cluster_->Kill("ps", 0);
  cluster_->Kill("chief", 0);
  ASSERT_THAT(cluster_->Restart("chief", 0), IsOk());
  ASSERT_THAT(cluster_->Restart("ps", 0), IsOk());
  // The chief's master asks all tasks.
  GrpcChannel channel({.address = *cluster_->spec().AddressOf("chief", 0)}, nullptr);
  tensorflow::ListDevicesResponse devices;
  EXPECT_THAT(
      channel.CallMessage("/tensorflow.MasterService/ListDevices", {.deadline = MonotonicNow() + absl::Seconds(30)},
                          tensorflow::ListDevicesRequest(), &devices),
      IsOk());
}

TEST_F(MembershipTest, AStaticTaskThatRestartsLearnsOfTheOthers) {
  Start();
  const auto joined = Join();
  cluster_->Kill("ps", 0);
  ASSERT_THAT(cluster_->Restart("ps", 0), IsOk());
  EXPECT_TRUE(Comes("ps", kWorker1, true));
}

TEST_F(MembershipTest, ATaskThatWasSuspendedForLongComesBack) {
  Start({"--member-lease", "2s"});
  const auto joined = Join();
  joined->process().Signal(SIGSTOP);
  EXPECT_TRUE(Comes("chief", kWorker1, false));
  joined->process().Signal(SIGCONT);
  EXPECT_TRUE(Comes("chief", kWorker1, true));
  Connect();
  EXPECT_EQ(RunUntilItWorks(PlusOne(kWorker1, "sum")), 2);
}

TEST_F(MembershipTest, ADrainingTaskGetsNoNewNodes) {
  Start();
  const WeirOutput drained = RunWeir("drain " + Target("ps") + " /job:chief/task:0");
  EXPECT_EQ(drained.code, 0);
  EXPECT_THAT(drained.text,
              AllOf(HasSubstr("epoch 1, registrar /job:chief/replica:0/task:0\n"), HasSubstr(" draining\n")));
  Connect();
  const Output free = ops::Add(scope_.WithName("free"), x_, 1.0f);
  RunOptions options;
  ASSERT_THAT(options.MergeText("output_partition_graphs: true"), IsOk());
  ProtoValue<tensorflow::RunMetadata> metadata;
  ASSERT_THAT(session_->Run({{x_, AsScalar<float>(1)}}, {free}, {}, options, &*metadata).status(), IsOk());
  int found = 0;
  for (const tensorflow::GraphDef& graph : metadata->partition_graphs()) {
    for (const tensorflow::NodeDef& node : graph.node()) {
      if (node.name() != "free") continue;
      EXPECT_THAT(node.device(), Not(HasSubstr("/job:chief")));
      ++found;
    }
  }
  EXPECT_EQ(found, 1);
  const WeirOutput undone = RunWeir("drain --undo " + Target("ps") + " /job:chief/task:0");
  EXPECT_THAT(undone.text, AllOf(HasSubstr("epoch 2"), Not(HasSubstr("draining"))));
}

TEST_F(MembershipTest, ATaskIsRemovedByCommand) {
  Start();
  const auto joined = Join();
  const WeirOutput removed = RunWeir("drain --remove " + Target() + " /job:worker/task:1");
  EXPECT_EQ(removed.code, 0);
  EXPECT_THAT(removed.text, Not(HasSubstr("/job:worker/replica:0/task:1")));
  const WeirOutput members = RunWeir("members " + Target("ps"));
  EXPECT_EQ(members.code, 0);
  EXPECT_THAT(members.text, AllOf(HasSubstr("/job:worker/replica:0/task:0 127.0.0.1:"), Not(HasSubstr("task:1"))));
  // The process learns of it, and does not come back.
  EXPECT_TRUE(Eventually([&] { return absl::StrContains(joined->process().Log(), "was removed from the cluster"); }));
  EXPECT_FALSE(Has("chief", kWorker1));
}

TEST_F(MembershipTest, StepsInFlightEndBeforeATaskLeaves) {
  Start();
  Connect();
  const auto joined = Join();
  const Scope on_joined = scope_.WithDevice(kWorker1);
  const Dataset one = Dataset::FromTensors(on_joined, {AsScalar<float>(7)});
  const Output slow =
      ops::SleepDataset(on_joined, one.variant(), on_joined.Constant(int64_t{1'000'000}), {DT_FLOAT}, {TensorShape()});
  const DataIterator input = Dataset::FromVariant(on_joined, slow, {{DT_FLOAT}, {TensorShape()}}).MakeIterator();
  // The leaving task answers the fetch itself: it refuses calls of other tasks that arrive during the grace period.
  const Output late = input.GetNext(on_joined)[0];
  ASSERT_THAT(session_->RunTargets({input.initializer()}), IsOk());
  auto step = std::async(std::launch::async, [&] { return Run(late); });
  ASSERT_TRUE(Eventually([&] {
    const TaskReport report = ReportOf(joined->address());
    return report.worker_session_size() > 0 && report.worker_session(0).running_steps() > 0;
  }));
  ASSERT_OK_AND_ASSIGN(const int code, joined->process().Terminate(absl::Seconds(15)));
  EXPECT_EQ(code, 0);
  const absl::StatusOr<float> result = step.get();
  ASSERT_THAT(result.status(), IsOk());
  EXPECT_EQ(*result, 7);
  EXPECT_FALSE(Has("chief", kWorker1));
}

TEST_F(MembershipTest, TheRegistrarIsNotRemoved) {
  Start();
  const WeirOutput removed = RunWeir("drain --remove " + Target() + " /job:chief/task:0");
  EXPECT_EQ(removed.code, 1);
  EXPECT_THAT(removed.text, HasSubstr("is this cluster's registrar"));
  EXPECT_EQ(View().epoch(), 0);
}

TEST_F(MembershipTest, CommandsNameWhatIsWrong) {
  Start();
  EXPECT_EQ(RunWeir("drain " + Target() + " worker1").code, 2);
  const WeirOutput unknown = RunWeir("drain " + Target() + " /job:worker/task:7");
  EXPECT_EQ(unknown.code, 1);
  EXPECT_THAT(unknown.text, HasSubstr("/job:worker/replica:0/task:7"));
  EXPECT_EQ(RunWeir("server --join " + Target()).code, 2);
  EXPECT_EQ(RunWeir("server --job worker --join nowhere").code, 2);
  EXPECT_EQ(RunWeir("server --job worker --advertise h:1 --cluster '{\"worker\": [\"127.0.0.1:0\"]}'").code, 2);
}

}  // namespace
}  // namespace weir
