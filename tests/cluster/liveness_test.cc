// Clients and masters that die leave nothing behind on the tasks that they used.
#include <google/protobuf/text_format.h>
#include <signal.h>

#include <algorithm>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/clock.h"
#include "core/testing.h"
#include "distribute/cluster/process_cluster.h"
#include "distribute/transport/grpc_master_client.h"
#include "tests/soak/process_usage.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

// "big" is produced on the parameter server and summed on worker 1; "bump" adds one to a variable there. "used"
// waits for a queue there that nobody fills.
constexpr char kGraph[] = R"(
  versions { producer: 1882 }
  node { name: "rows" op: "Placeholder" device: "/job:ps/task:0" attr { key: "dtype" value { type: DT_INT32 } } }
  node { name: "one" op: "Const" device: "/job:ps/task:0" attr { key: "dtype" value { type: DT_FLOAT } }
         attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 1 } } } }
  node { name: "big" op: "Fill" input: "rows" input: "one" device: "/job:ps/task:0"
         attr { key: "T" value { type: DT_FLOAT } } attr { key: "index_type" value { type: DT_INT32 } } }
  node { name: "zero" op: "Const" device: "/job:worker/task:1" attr { key: "dtype" value { type: DT_INT32 } }
         attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 0 } } } }
  node { name: "sum" op: "Sum" input: "big" input: "zero" device: "/job:worker/task:1"
         attr { key: "T" value { type: DT_FLOAT } } attr { key: "Tidx" value { type: DT_INT32 } }
         attr { key: "keep_dims" value { b: false } } }
  node { name: "queue" op: "FIFOQueueV2" device: "/job:ps/task:0"
         attr { key: "component_types" value { list { type: DT_FLOAT } } }
         attr { key: "shapes" value { list { shape {} } } } }
  node { name: "taken" op: "QueueDequeueV2" input: "queue" device: "/job:ps/task:0"
         attr { key: "component_types" value { list { type: DT_FLOAT } } } }
  node { name: "used" op: "Neg" input: "taken" device: "/job:worker/task:1"
         attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "v" op: "VarHandleOp" device: "/job:ps/task:0" attr { key: "dtype" value { type: DT_FLOAT } }
         attr { key: "shape" value { shape {} } } attr { key: "shared_name" value { s: "v" } } }
  node { name: "init" op: "AssignVariableOp" input: "v" input: "one" device: "/job:ps/task:0"
         attr { key: "dtype" value { type: DT_FLOAT } } }
  node { name: "bump" op: "AssignAddVariableOp" input: "v" input: "one" input: "^big" device: "/job:ps/task:0"
         attr { key: "dtype" value { type: DT_FLOAT } } }
  node { name: "read" op: "ReadVariableOp" input: "v" device: "/job:ps/task:0"
         attr { key: "dtype" value { type: DT_FLOAT } } })";
constexpr int32_t kFloats = 8 << 20;  // 32 MiB

// True once `happened` is.
template <typename Happened>
bool Becomes(Happened happened, absl::Duration patience = absl::Seconds(60)) {
  const absl::Time end = MonotonicNow() + patience;
  while (!happened()) {
    if (MonotonicNow() > end) return false;
    absl::SleepFor(absl::Milliseconds(5));
  }
  return true;
}

class LivenessTest : public testing::Test {
 protected:
  void StartCluster(std::vector<std::string> flags) {
    ASSERT_OK_AND_ASSIGN(cluster_,
                         ProcessCluster::Start(
                             {.program = WEIR_PROGRAM, .jobs = {{"worker", 2}, {"ps", 1}}, .flags = std::move(flags)}));
  }

  // A client on a connection of its own.
  std::unique_ptr<GrpcMasterClient> Client() {
    return std::make_unique<GrpcMasterClient>(GrpcChannelOptions{.address = *cluster_->spec().AddressOf("worker", 0)});
  }
  static CallOptions Soon() { return {.deadline = MonotonicNow() + absl::Seconds(60)}; }

  static std::string CreateSession(GrpcMasterClient& client, const std::string& device_filter = "") {
    tensorflow::CreateSessionRequest request;
    if (!device_filter.empty()) request.mutable_config()->add_device_filters(device_filter);
    // So that "bump" shows how far a step has come.
    request.mutable_config()->mutable_graph_options()->mutable_rewrite_options()->add_custom_optimizers()->set_name(
        "UncommittedSteps");
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(kGraph, request.mutable_graph_def()));
    tensorflow::CreateSessionResponse response;
    EXPECT_THAT(client.CreateSession(Soon(), request, &response), IsOk());
    return response.session_handle();
  }
  static absl::Status Run(GrpcMasterClient& client, const std::string& session, std::optional<int32_t> rows,
                          std::vector<std::string> targets, absl::Duration limit = absl::Seconds(60)) {
    RunStepArgs args;
    args.session_handle = session;
    if (rows) args.feeds = {{"rows:0", AsTensor<int32_t>({*rows})}};
    args.targets = std::move(targets);
    return client.RunStep({.deadline = MonotonicNow() + limit}, args).status();
  }
  static absl::Status Sum(GrpcMasterClient& client, const std::string& session) {
    return Run(client, session, 2, {"sum"});
  }
  // The error of a step, tried again until all of `parts` are in its message: tasks answer a quarter of a second before
  // the deadline, and a busy machine may take longer than that.
  template <typename Step>
  static absl::Status ErrorWith(const std::vector<std::string>& parts, Step step) {
    absl::Status status = step();
    const auto is_in = [&](const std::string& part) { return absl::StrContains(status.message(), part); };
    for (int attempt = 1; attempt < 5 && !std::all_of(parts.begin(), parts.end(), is_in); ++attempt) status = step();
    return status;
  }
  // How often "bump" has run.
  static int Count(GrpcMasterClient& client, const std::string& session) {
    RunStepArgs args;
    args.session_handle = session;
    args.fetches = {"read:0"};
    const absl::StatusOr<RunStepResult> result = client.RunStep(Soon(), args);
    return result.ok() ? static_cast<int>(result->fetches[0].scalar<float>()) - 1 : -1;
  }

  bool Logs(const std::string& job, int index, const std::string& text) {
    return Becomes([&] { return absl::StrContains(cluster_->Log(job, index), text); });
  }

  std::unique_ptr<ProcessCluster> cluster_;
};

TEST_F(LivenessTest, ASessionEndsWithItsClientButNotWhileTheClientIsIdle) {
  StartCluster({"--session-lease=400ms"});
  const auto idle = Client();
  const std::string kept = CreateSession(*idle);
  auto gone = Client();
  const std::string ended = CreateSession(*gone);
  ASSERT_THAT(Sum(*gone, ended), IsOk());
  gone.reset();
  ASSERT_TRUE(Logs("worker", 0, absl::StrCat("session=", ended))) << cluster_->Log("worker", 0);
  const auto late = Client();
  EXPECT_THAT(Sum(*late, ended),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("its client was not connected for 400ms")));
  EXPECT_THAT(Sum(*idle, kept), IsOk());
}

TEST_F(LivenessTest, AClientsDeadlineNamesWhatTheStepWaitedFor) {
  StartCluster({});
  const auto client = Client();
  const std::string session = CreateSession(*client);
  ASSERT_THAT(Sum(*client, session), IsOk());
  RunStepArgs args;
  args.session_handle = session;
  args.fetches = {"used:0"};
  const std::vector<std::string> parts = {"waited for node 'taken' (QueueDequeueV2) on /job:ps/replica:0/task:0/",
                                          "from /job:ps/replica:0/task:0/device:CPU:0 in node",
                                          "/job:worker/replica:0/task:1: Step"};
  const absl::Status late =
      ErrorWith(parts, [&] { return client->RunStep({.deadline = MonotonicNow() + absl::Seconds(5)}, args).status(); });
  EXPECT_THAT(late, StatusIs(absl::StatusCode::kDeadlineExceeded));
  for (const std::string& part : parts) EXPECT_THAT(late.message(), HasSubstr(part));
}

TEST_F(LivenessTest, AClientsDeadlineNamesATaskThatHangs) {
  StartCluster({});
  const auto client = Client();
  const std::string session = CreateSession(*client);
  // The first attempt of each step comes before the task is found to hang.
  const auto while_it_hangs = [&](const std::vector<std::string>& targets) {
    cluster_->Resume("worker", 1);
    EXPECT_TRUE(Becomes([&] { return Sum(*client, session).ok(); }));
    cluster_->Pause("worker", 1);
    return Run(*client, session, 2, targets, absl::Seconds(3));
  };
  const std::string no_answer = "/job:worker/replica:0/task:1: it did not answer in time";
  EXPECT_THAT(ErrorWith({no_answer}, [&] { return while_it_hangs({"sum"}); }),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr(no_answer)));
  // The graph of this step is not registered yet.
  const std::string not_registered = "RegisterGraph to task /job:worker/replica:0/task:1";
  const std::vector<std::string> another = {"sum", "bump"};
  EXPECT_THAT(ErrorWith({not_registered}, [&] { return while_it_hangs(another); }),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr(not_registered)));
}

TEST_F(LivenessTest, AClientThatReconnectsFindsItsSession) {
  StartCluster({"--session-lease=10m"});
  auto first = Client();
  const std::string session = CreateSession(*first);
  ASSERT_THAT(Sum(*first, session), IsOk());
  first.reset();
  EXPECT_THAT(Sum(*Client(), session), IsOk());
}

TEST_F(LivenessTest, SessionsOfAMasterThatDiedEnd) {
  StartCluster({"--master-lease=1s"});
  const auto client = Client();
  const std::string session = CreateSession(*client);
  ASSERT_TRUE(Becomes([&] { return Sum(*client, session).ok(); }));
  cluster_->Kill("worker", 0);
  EXPECT_TRUE(Logs("ps", 0, "ending 1 sessions, because it has not answered for 1s")) << cluster_->Log("ps", 0);
  EXPECT_TRUE(Logs("worker", 1, "ending 1 sessions")) << cluster_->Log("worker", 1);
}

TEST_F(LivenessTest, ASessionThatATaskEndedIsOpenedAgain) {
  StartCluster({"--master-lease=1s", "--session-lease=10m"});
  auto client = Client();
  const std::string session = CreateSession(*client);
  ASSERT_TRUE(Becomes([&] { return Sum(*client, session).ok(); }));
  cluster_->Pause("worker", 0);
  ASSERT_TRUE(Logs("ps", 0, "ending 1 sessions")) << cluster_->Log("ps", 0);
  cluster_->Resume("worker", 0);
  EXPECT_TRUE(Becomes([&] { return Sum(*client, session).ok(); }));
}

// As from a terminal that closes.
TEST_F(LivenessTest, ASecondHangUpDoesNotCutAShutdownShort) {
  StartCluster({});
  GrpcMasterClient observer(GrpcChannelOptions{.address = *cluster_->spec().AddressOf("ps", 0)});
  const std::string observed = CreateSession(observer, "/job:ps");
  ASSERT_THAT(Run(observer, observed, {}, {"init"}), IsOk());
  const auto client = Client();
  const std::string session = CreateSession(*client);
  auto step = std::async(std::launch::async, [&] { return Run(*client, session, 2, {"used", "bump"}); });
  ASSERT_TRUE(Becomes([&] { return Count(observer, observed) == 1; }));
  const pid_t pid = cluster_->pid("worker", 0);
  kill(pid, SIGHUP);
  ASSERT_TRUE(Logs("worker", 0, "stopping"));
  kill(pid, SIGHUP);
  EXPECT_THAT(step.get(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_TRUE(Becomes([&] { return cluster_->pid("worker", 0) == -1; }));
  EXPECT_FALSE(absl::StrContains(cluster_->Log("worker", 0), "stopped immediately"));
}

// Worker 1 stands still, so that the parameter server keeps the tensor for it when the master dies in mid-step.
TEST_F(LivenessTest, StepsWhoseMasterDiedAreFreed) {
  StartCluster({});
  GrpcMasterClient observer(GrpcChannelOptions{.address = *cluster_->spec().AddressOf("ps", 0)});
  const std::string observed = CreateSession(observer, "/job:ps");
  ASSERT_THAT(Run(observer, observed, {}, {"init"}), IsOk());
  const auto resident = [this] { return UsageOf(cluster_->pid("ps", 0))->resident_bytes; };
  constexpr int64_t kBig = int64_t{kFloats} * sizeof(float);
  int64_t after_first = 0;
  for (int i = 1; i <= 6; ++i) {
    const auto client = Client();
    const std::string session = CreateSession(*client);
    ASSERT_THAT(Run(*client, session, 2, {"sum", "bump"}), IsOk());
    cluster_->Pause("worker", 1);
    auto step = std::async(std::launch::async, [&] { return Run(*client, session, kFloats, {"sum", "bump"}); });
    ASSERT_TRUE(Becomes([&] { return Count(observer, observed) == 2 * i; }));
    cluster_->Kill("worker", 0);
    cluster_->Kill("worker", 1);
    EXPECT_FALSE(step.get().ok());
    ASSERT_THAT(cluster_->Restart("worker", 1), IsOk());
    ASSERT_THAT(cluster_->Restart("worker", 0), IsOk());
    if (i == 1) after_first = resident();
  }
  EXPECT_LT(resident() - after_first, 2 * kBig);
}

}  // namespace
}  // namespace weir
