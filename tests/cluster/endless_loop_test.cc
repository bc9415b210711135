// A loop in which no kernel runs, and that never ends by itself, ends with its step, its session and its client.
#include <google/protobuf/text_format.h>

#include <future>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/clock.h"
#include "core/testing.h"
#include "distribute/cluster/process_cluster.h"
#include "distribute/transport/grpc_master_client.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

// "exit" leaves the loop, which only Enter, Merge, Switch and NextIteration are in, never. "told" shows that a step
// with "tell" runs.
constexpr char kGraph[] = R"(
  versions { producer: 1882 }
  node { name: "true" op: "Const" attr { key: "dtype" value { type: DT_BOOL } }
         attr { key: "value" value { tensor { dtype: DT_BOOL tensor_shape {} bool_val: true } } } }
  node { name: "zero" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
         attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 0 } } } }
  node { name: "predicate" op: "Enter" input: "true" attr { key: "T" value { type: DT_BOOL } }
         attr { key: "frame_name" value { s: "loop" } } attr { key: "is_constant" value { b: true } } }
  node { name: "enter" op: "Enter" input: "zero" attr { key: "T" value { type: DT_FLOAT } }
         attr { key: "frame_name" value { s: "loop" } } }
  node { name: "merge" op: "Merge" input: "enter" input: "next" attr { key: "T" value { type: DT_FLOAT } }
         attr { key: "N" value { i: 2 } } }
  node { name: "switch" op: "Switch" input: "merge" input: "predicate" attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "next" op: "NextIteration" input: "switch:1" attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "exit" op: "Exit" input: "switch" attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "queue" op: "FIFOQueueV2" attr { key: "component_types" value { list { type: DT_FLOAT } } }
         attr { key: "shared_name" value { s: "queue" } } }
  node { name: "tell" op: "QueueEnqueueV2" input: "queue" input: "zero"
         attr { key: "Tcomponents" value { list { type: DT_FLOAT } } } }
  node { name: "told" op: "QueueDequeueV2" input: "queue"
         attr { key: "component_types" value { list { type: DT_FLOAT } } } })";

class EndlessLoopTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(
        cluster_,
        ProcessCluster::Start({.program = WEIR_PROGRAM, .jobs = {{"worker", 1}}, .flags = {"--session-lease=400ms"}}));
    observer_ = Client();
    observed_ = CreateSession(*observer_);
    looping_ = Client();
    session_ = CreateSession(*looping_);
  }

  // A client on a connection of its own.
  std::unique_ptr<GrpcMasterClient> Client() {
    return std::make_unique<GrpcMasterClient>(GrpcChannelOptions{.address = *cluster_->spec().AddressOf("worker", 0)});
  }
  static CallOptions Soon() { return {.deadline = MonotonicNow() + absl::Seconds(60)}; }
  static std::string CreateSession(GrpcMasterClient& client) {
    tensorflow::CreateSessionRequest request;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(kGraph, request.mutable_graph_def()));
    tensorflow::CreateSessionResponse response;
    EXPECT_THAT(client.CreateSession(Soon(), request, &response), IsOk());
    return response.session_handle();
  }
  static absl::Status Run(GrpcMasterClient& client, const std::string& session, std::vector<std::string> targets,
                          const CallOptions& call, absl::Duration limit = absl::ZeroDuration()) {
    RunStepArgs args;
    args.session_handle = session;
    args.targets = std::move(targets);
    args.options.set_timeout_in_ms(absl::ToInt64Milliseconds(limit));
    return client.RunStep(call, args).status();
  }

  // Starts a step with the loop. It runs when this returns, because a node beside the loop has run.
  std::future<absl::Status> StartLoop(const CallOptions& call) {
    auto step = std::async(std::launch::async, [this, call] {
      return Run(*looping_, session_, {"exit", "tell"}, call);
    });
    EXPECT_THAT(Run(*observer_, observed_, {"told"}, Soon()), IsOk());
    return step;
  }
  // The step is told to end long before the limit of its own call.
  static bool EndsInTime(const std::future<absl::Status>& step) {
    return step.wait_for(std::chrono::seconds(30)) == std::future_status::ready;
  }
  bool Logs(const std::string& text) {
    const absl::Time end = MonotonicNow() + absl::Seconds(60);
    while (!absl::StrContains(cluster_->Log("worker", 0), text)) {
      if (MonotonicNow() > end) return false;
      absl::SleepFor(absl::Milliseconds(5));
    }
    return true;
  }

  std::unique_ptr<ProcessCluster> cluster_;
  std::unique_ptr<GrpcMasterClient> observer_, looping_;
  std::string observed_, session_;
};

TEST_F(EndlessLoopTest, EndsAtTheTimeLimitOfItsStep) {
  // Another step has prepared the graph, so that the time limit is over in the loop.
  CancellationManager cancellation;
  auto first = StartLoop({.deadline = absl::InfiniteFuture(), .cancellation = &cancellation});
  cancellation.StartCancel();
  ASSERT_TRUE(EndsInTime(first));
  auto step = std::async(std::launch::async, [this] {
    return Run(*looping_, session_, {"exit", "tell"}, Soon(), absl::Milliseconds(300));
  });
  ASSERT_TRUE(EndsInTime(step));
  EXPECT_THAT(step.get(), StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("Timed out")));
}

TEST_F(EndlessLoopTest, EndsWithItsSession) {
  auto step = StartLoop(Soon());
  tensorflow::CloseSessionRequest request;
  tensorflow::CloseSessionResponse response;
  request.set_session_handle(session_);
  EXPECT_THAT(observer_->CloseSession(Soon(), request, &response), IsOk());
  ASSERT_TRUE(EndsInTime(step));
  EXPECT_THAT(step.get(), StatusIs(absl::StatusCode::kCancelled, HasSubstr("Session::Close()")));
}

// The lease of a session does not run out while a call runs.
TEST_F(EndlessLoopTest, EndsWithItsClient) {
  CancellationManager cancellation;
  auto step = StartLoop({.deadline = absl::InfiniteFuture(), .cancellation = &cancellation});
  cancellation.StartCancel();
  ASSERT_TRUE(EndsInTime(step));
  EXPECT_THAT(step.get(), StatusIs(absl::StatusCode::kCancelled));
  looping_.reset();
  EXPECT_TRUE(Logs(absl::StrCat("session=", session_))) << cluster_->Log("worker", 0);
}

}  // namespace
}  // namespace weir
