// Tasks as processes: they start, answer, die, hang, come back and stop.
#include <google/protobuf/text_format.h>
#include <signal.h>

#include <algorithm>
#include <future>
#include <thread>

#include "absl/strings/match.h"
#include "core/clock.h"
#include "core/testing.h"
#include "distribute/cluster/process_cluster.h"
#include "distribute/transport/grpc_master_client.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

// y = x + 1, x fed on worker 0, the sum on worker 1.
constexpr char kGraph[] = R"(
  versions { producer: 1882 }
  node { name: "x" op: "Placeholder" device: "/job:worker/task:0" attr { key: "dtype" value { type: DT_FLOAT } } }
  node { name: "x0" op: "Identity" input: "x" device: "/job:worker/task:0" attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "one" op: "Const" device: "/job:worker/task:1" attr { key: "dtype" value { type: DT_FLOAT } }
         attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 1 } } } }
  node { name: "y" op: "AddV2" input: "x0" input: "one" device: "/job:worker/task:1"
         attr { key: "T" value { type: DT_FLOAT } } })";

class ClusterTest : public testing::Test {
 protected:
  void StartCluster(ProcessCluster::Options options) {
    ASSERT_OK_AND_ASSIGN(cluster_, ProcessCluster::Start(std::move(options)));
    master_ = std::make_unique<GrpcMasterClient>(GrpcChannelOptions{.address = AddressOf("worker", 0)});
  }

  std::string AddressOf(const std::string& job, int index) { return *cluster_->spec().AddressOf(job, index); }

  CallOptions Soon() { return {.deadline = MonotonicNow() + absl::Seconds(30)}; }

  void CreateSession() {
    tensorflow::CreateSessionRequest request;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(kGraph, request.mutable_graph_def()));
    tensorflow::CreateSessionResponse response;
    ASSERT_THAT(master_->CreateSession(Soon(), request, &response), IsOk());
    session_ = response.session_handle();
  }

  absl::StatusOr<RunStepResult> RunStep(float x) {
    RunStepArgs args;
    args.session_handle = session_;
    args.feeds = {{"x:0", AsScalar<float>(x)}};
    args.fetches = {"y:0"};
    return master_->RunStep(Soon(), args);
  }

  std::unique_ptr<ProcessCluster> cluster_;
  std::unique_ptr<GrpcMasterClient> master_;
  std::string session_;
};

TEST_F(ClusterTest, AStepRunsAcrossTwoProcesses) {
  StartCluster({.program = WEIR_PROGRAM, .jobs = {{"worker", 2}}});
  CreateSession();
  for (int i = 0; i < 20; ++i) {
    ASSERT_OK_AND_ASSIGN(RunStepResult result, RunStep(i));
    ExpectTensorEqual(result.fetches[0], AsScalar<float>(i + 1));
  }
}

TEST_F(ClusterTest, TfConfigTellsATaskWhatItIs) {
  StartCluster({.program = WEIR_PROGRAM, .jobs = {{"worker", 2}, {"ps", 1}}, .use_tf_config = true});
  tensorflow::ListDevicesRequest request;
  tensorflow::ListDevicesResponse response;
  ASSERT_THAT(master_->ListDevices(Soon(), request, &response), IsOk());
  EXPECT_EQ(response.local_device_size() + response.remote_device_size(), 3);
  EXPECT_EQ(response.local_device(0).name(), "/job:worker/replica:0/task:0/device:CPU:0");
}

TEST_F(ClusterTest, AKilledTaskIsNamedAndItsReturnIsNoticed) {
  StartCluster({.program = WEIR_PROGRAM, .jobs = {{"worker", 2}}});
  CreateSession();
  ASSERT_THAT(RunStep(1), IsOk());
  cluster_->Kill("worker", 1);
  const absl::Time killed = MonotonicNow();
  const absl::Status status = RunStep(1).status();
  EXPECT_THAT(status.message(), HasSubstr("/job:worker/replica:0/task:1")) << status;
  EXPECT_LT(MonotonicNow() - killed, absl::Seconds(10));
  ASSERT_THAT(cluster_->Restart("worker", 1), IsOk());
  // The session finds the task again; a step or two may still meet the old one's end.
  absl::StatusOr<RunStepResult> result = RunStep(2);
  while (!result.ok() && MonotonicNow() - killed < absl::Minutes(2)) {
    std::this_thread::yield();
    result = RunStep(2);
  }
  ASSERT_THAT(result, IsOk());
  ExpectTensorEqual(result->fetches[0], AsScalar<float>(3));
}

TEST_F(ClusterTest, AHungTaskFailsItsStepsInTenSeconds) {
  StartCluster({.program = WEIR_PROGRAM, .jobs = {{"worker", 2}}});
  CreateSession();
  // A busy machine may delay one attempt.
  absl::Duration quickest = absl::InfiniteDuration();
  for (int attempt = 0; attempt < 3 && quickest >= absl::Seconds(10); ++attempt) {
    cluster_->Resume("worker", 1);
    const absl::Time resumed = MonotonicNow();
    while (!RunStep(1).ok()) ASSERT_LT(MonotonicNow() - resumed, absl::Seconds(30));
    cluster_->Pause("worker", 1);
    const absl::Time paused = MonotonicNow();
    const absl::Status status = RunStep(1).status();
    quickest = std::min(quickest, MonotonicNow() - paused);
    ASSERT_THAT(status, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("/job:worker/replica:0/task:1")));
  }
  EXPECT_LT(quickest, absl::Seconds(10));
}

TEST_F(ClusterTest, ATaskStopsInOrder) {
  // A busy machine may delay one attempt.
  absl::Duration quickest = absl::InfiniteDuration();
  for (int attempt = 0; attempt < 3 && quickest >= absl::Seconds(2); ++attempt) {
    StartCluster({.program = WEIR_PROGRAM, .jobs = {{"worker", 2}}});
    CreateSession();
    ASSERT_THAT(RunStep(1), IsOk());
    const absl::Time start = MonotonicNow();
    ASSERT_OK_AND_ASSIGN(const int code, cluster_->Terminate("worker", 0));
    quickest = std::min(quickest, MonotonicNow() - start);
    EXPECT_EQ(code, 0) << cluster_->Log("worker", 0);
    EXPECT_THAT(cluster_->Log("worker", 0), HasSubstr("stopping"));
  }
  EXPECT_LT(quickest, absl::Seconds(2));
}

TEST_F(ClusterTest, AnInterruptedStopIsInOrderToo) {
  StartCluster({.program = WEIR_PROGRAM, .jobs = {{"worker", 2}}});
  CreateSession();
  ASSERT_THAT(RunStep(1), IsOk());
  cluster_->Pause("worker", 1);
  std::future<absl::StatusOr<RunStepResult>> step = std::async(std::launch::async, [this] { return RunStep(2); });
  std::future<absl::StatusOr<int>> stop =
      std::async(std::launch::async, [this] { return cluster_->Terminate("worker", 0); });
  while (stop.wait_for(std::chrono::milliseconds(1)) == std::future_status::timeout &&
         !absl::StrContains(cluster_->Log("worker", 0), "stopping")) {
  }
  cluster_->Pause("worker", 0);
  cluster_->Resume("worker", 0);
  ASSERT_OK_AND_ASSIGN(int code, stop.get());
  EXPECT_EQ(code, 0) << cluster_->Log("worker", 0);
  EXPECT_FALSE(step.get().ok());
}

TEST_F(ClusterTest, NoProcessOutlivesTheCluster) {
  StartCluster({.program = WEIR_PROGRAM, .jobs = {{"worker", 2}}});
  const pid_t pids[] = {cluster_->pid("worker", 0), cluster_->pid("worker", 1)};
  cluster_.reset();
  for (pid_t pid : pids) EXPECT_NE(kill(pid, 0), 0);
}

TEST(ServerProgramTest, ABadClusterIsToldInOneLine) {
  ProcessCluster::Options options;
  options.program = WEIR_PROGRAM;
  options.flags = {"--bind", "0.0.0.0"};
  EXPECT_THAT(ProcessCluster::Start(options), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("--insecure")));
  options.flags = {"--port", "70000"};
  EXPECT_THAT(ProcessCluster::Start(options), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("--port")));
}

}  // namespace
}  // namespace weir
