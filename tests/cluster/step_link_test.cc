// Ordinary steps between processes: what passes between them goes through links of either kind, or over gRPC.
#include <google/protobuf/text_format.h>

#include <future>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "core/clock.h"
#include "core/testing.h"
#include "distribute/cluster/process_cluster.h"
#include "distribute/transport/grpc_master_client.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kLimit = absl::Seconds(40);

// z = 2 (x + 1): x and z on worker 0, the sum on the parameter server. Nothing ever comes out of the queue there.
constexpr char kGraph[] = R"(
  versions { producer: 1882 }
  node { name: "x" op: "Placeholder" device: "/job:worker/task:0" attr { key: "dtype" value { type: DT_FLOAT } } }
  node { name: "x0" op: "Identity" input: "x" device: "/job:worker/task:0" attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "one" op: "Const" device: "/job:ps/task:0" attr { key: "dtype" value { type: DT_FLOAT } }
         attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 1 } } } }
  node { name: "y" op: "AddV2" input: "x0" input: "one" device: "/job:ps/task:0"
         attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "z" op: "AddV2" input: "y" input: "y" device: "/job:worker/task:0"
         attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "queue" op: "FIFOQueueV2" device: "/job:ps/task:0"
         attr { key: "component_types" value { list { type: DT_FLOAT } } } }
  node { name: "stuck" op: "QueueDequeueV2" input: "queue" device: "/job:ps/task:0"
         attr { key: "component_types" value { list { type: DT_FLOAT } } } }
  node { name: "waits" op: "Identity" input: "stuck" device: "/job:worker/task:0"
         attr { key: "T" value { type: DT_FLOAT } } })";

struct Way {
  const char* name;
  std::vector<std::string> flags;
  const char* small;  // tensors; as timelines have it
  const char* large;
};

class StepLinkTest : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(cluster_,
                         ProcessCluster::Start(
                             {.program = WEIR_PROGRAM, .jobs = {{"ps", 1}, {"worker", 1}}, .flags = GetParam().flags}));
    master_ =
        std::make_unique<GrpcMasterClient>(GrpcChannelOptions{.address = *cluster_->spec().AddressOf("worker", 0)});
    tensorflow::CreateSessionRequest request;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(kGraph, request.mutable_graph_def()));
    tensorflow::CreateSessionResponse response;
    ASSERT_THAT(master_->CreateSession({.deadline = MonotonicNow() + kLimit}, request, &response), IsOk());
    session_ = response.session_handle();
    AwaitWay();
  }

  absl::StatusOr<RunStepResult> RunStep(const std::string& fetch, const Tensor& x = AsScalar<float>(1),
                                        const tensorflow::RunOptions& options = {}) {
    RunStepArgs args;
    args.session_handle = session_;
    if (fetch == "z:0") args.feeds = {{"x:0", x}};
    args.fetches = {fetch};
    args.options = options;
    return master_->RunStep({.deadline = MonotonicNow() + absl::Minutes(2)}, args);
  }

  // The labels of all receives of a step.
  std::vector<std::string> ReceiveLabels(const Tensor& x) {
    tensorflow::RunOptions traced;
    traced.set_trace_level(tensorflow::RunOptions::FULL_TRACE);
    const auto result = RunStep("z:0", x, traced);
    EXPECT_THAT(result, IsOk());
    std::vector<std::string> labels;
    if (!result.ok()) return labels;
    for (const auto& device : result->metadata.step_stats().dev_stats()) {
      for (const auto& node : device.node_stats()) {
        if (absl::StrContains(node.timeline_label(), "= _Recv(") && absl::StrContains(node.node_name(), "/_recv_")) {
          labels.push_back(node.timeline_label());
        }
      }
    }
    return labels;
  }

  // Links are made when they are first wanted; until then it is gRPC.
  void AwaitWay() {
    const auto is_expected = [this](const std::string& label) { return absl::EndsWith(label, GetParam().small); };
    std::vector<std::string> labels;
    for (const absl::Time end = MonotonicNow() + absl::Minutes(1); MonotonicNow() < end;) {
      labels = ReceiveLabels(AsScalar<float>(1));
      if (labels.size() == 2 && std::all_of(labels.begin(), labels.end(), is_expected)) return;
    }
    FAIL() << absl::StrJoin(labels, "; ");
  }

  std::unique_ptr<ProcessCluster> cluster_;
  std::unique_ptr<GrpcMasterClient> master_;
  std::string session_;
};

TEST_P(StepLinkTest, EachTensorArrivesWhateverItsSize) {
  for (const int64_t size : {1, 1000, 40'000, 1'000'000}) {
    Tensor x(DT_FLOAT, {size}), expected(DT_FLOAT, {size});
    for (int64_t i = 0; i < size; ++i) {
      x.data<float>()[i] = static_cast<float>(i);
      expected.data<float>()[i] = static_cast<float>(2 * (i + 1));
    }
    for (int step = 0; step < 3; ++step) {
      ASSERT_OK_AND_ASSIGN(const RunStepResult result, RunStep("z:0", x));
      ExpectTensorEqual(result.fetches[0], expected);
    }
  }
}

TEST_P(StepLinkTest, ATimelineNamesTheWayOfLargeTensorsToo) {
  const Tensor large(DT_FLOAT, {100'000});
  for (const std::string& label : ReceiveLabels(large)) {
    EXPECT_THAT(label, ::testing::EndsWith(GetParam().large));
  }
}

TEST_P(StepLinkTest, StepsRunSideBySide) {
  std::vector<std::future<int>> failures;
  for (int client = 0; client < 4; ++client) {
    failures.push_back(std::async(std::launch::async, [this, client] {
      int num_failures = 0;
      for (int i = 0; i < 100; ++i) {
        const float x = static_cast<float>(1000 * client + i);
        const auto result = RunStep("z:0", AsScalar<float>(x));
        num_failures += result.ok() && *result->fetches[0].data<float>() == 2 * (x + 1) ? 0 : 1;
      }
      return num_failures;
    }));
  }
  for (auto& num_failures : failures) EXPECT_EQ(num_failures.get(), 0);
}

TEST_P(StepLinkTest, ALateStepEndsOnAllTasks) {
  tensorflow::RunOptions options;
  options.set_timeout_in_ms(100);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(RunStep("waits:0", {}, options), StatusIs(absl::StatusCode::kDeadlineExceeded));
  }
  EXPECT_THAT(RunStep("z:0"), IsOk());
}

TEST_P(StepLinkTest, AKilledTaskIsNamedAndItsReturnIsNoticed) {
  auto waiting = std::async(std::launch::async, [this] { return RunStep("waits:0").status(); });
  for (int step = 0; step < 20; ++step) EXPECT_THAT(RunStep("z:0"), IsOk());
  cluster_->Kill("ps", 0);
  const absl::Time killed = MonotonicNow();
  EXPECT_THAT(std::string(waiting.get().message()), HasSubstr("/job:ps/replica:0/task:0"));
  EXPECT_THAT(std::string(RunStep("z:0").status().message()), HasSubstr("/job:ps/replica:0/task:0"));
  EXPECT_LT(MonotonicNow() - killed, kLimit);
  ASSERT_THAT(cluster_->Restart("ps", 0), IsOk());
  while (!RunStep("z:0").ok() && MonotonicNow() - killed < absl::Minutes(2)) std::this_thread::yield();
  AwaitWay();
}

TEST_P(StepLinkTest, AHungTaskIsNamed) {
  auto waiting = std::async(std::launch::async, [this] { return RunStep("waits:0").status(); });
  for (int step = 0; step < 20; ++step) EXPECT_THAT(RunStep("z:0"), IsOk());
  cluster_->Pause("ps", 0);
  const absl::Time paused = MonotonicNow();
  const absl::Status status = RunStep("z:0").status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("/job:ps/replica:0/task:0")));
  EXPECT_THAT(std::string(waiting.get().message()), HasSubstr("/job:ps/replica:0/task:0"));
  EXPECT_LT(MonotonicNow() - paused, kLimit);
}

TEST_P(StepLinkTest, ATaskStopsInOrderWhileStepsRun) {
  auto waiting = std::async(std::launch::async, [this] { return RunStep("waits:0").status(); });
  for (int step = 0; step < 20; ++step) EXPECT_THAT(RunStep("z:0"), IsOk());
  ASSERT_OK_AND_ASSIGN(const int code, cluster_->Terminate("ps", 0));
  EXPECT_EQ(code, 0) << cluster_->Log("ps", 0);
  EXPECT_FALSE(waiting.get().ok());
}

INSTANTIATE_TEST_SUITE_P(Transports, StepLinkTest,
                         testing::Values(Way{"Link", {}, "through a link", "through shared memory"},
                                         Way{"Stream", {"--no-shared-memory"}, "through a stream", "through a stream"},
                                         Way{"Grpc", {"--no-shared-memory", "--no-streams"}, "over gRPC", "over gRPC"}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace weir
