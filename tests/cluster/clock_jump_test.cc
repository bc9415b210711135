// The wall clock of running tasks is set on and back by an hour.
#include <google/protobuf/text_format.h>

#include <future>

#include "core/clock.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"
#include "distribute/cluster/process_cluster.h"
#include "distribute/transport/grpc_master_client.h"
#include "tests/cluster/wall_clock.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

// A queue on worker 1. "put" and "taken" are run by different steps.
constexpr char kGraph[] = R"(
  versions { producer: 1882 }
  node { name: "one" op: "Const" device: "/job:worker/task:0" attr { key: "dtype" value { type: DT_FLOAT } }
         attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 1 } } } }
  node { name: "queue" op: "FIFOQueueV2" device: "/job:worker/task:1"
         attr { key: "component_types" value { list { type: DT_FLOAT } } }
         attr { key: "shared_name" value { s: "queue" } } }
  node { name: "put" op: "QueueEnqueueV2" input: "queue" input: "one" device: "/job:worker/task:1"
         attr { key: "Tcomponents" value { list { type: DT_FLOAT } } } }
  node { name: "taken" op: "QueueDequeueV2" input: "queue" device: "/job:worker/task:1"
         attr { key: "component_types" value { list { type: DT_FLOAT } } } }
  node { name: "sum" op: "Identity" input: "one" device: "/job:worker/task:1"
         attr { key: "T" value { type: DT_FLOAT } } })";

class ClockJumpTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(clock_, WallClock::Create(directory_.Path("clock")));
    ASSERT_OK_AND_ASSIGN(cluster_,
                         ProcessCluster::Start(
                             {.program = WEIR_PROGRAM, .jobs = {{"worker", 2}}, .environment = clock_->Environment()}));
    master_ =
        std::make_unique<GrpcMasterClient>(GrpcChannelOptions{.address = *cluster_->spec().AddressOf("worker", 0)});
    tensorflow::CreateSessionRequest request;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(kGraph, request.mutable_graph_def()));
    tensorflow::CreateSessionResponse response;
    ASSERT_THAT(master_->CreateSession(Soon(), request, &response), IsOk());
    session_ = response.session_handle();
  }

  static CallOptions Soon() { return {.deadline = MonotonicNow() + absl::Seconds(60)}; }

  absl::Status Run(const std::string& fetch, const std::string& target, absl::Duration limit = absl::Seconds(50)) {
    RunStepArgs args;
    args.session_handle = session_;
    if (!fetch.empty()) args.fetches = {fetch};
    if (!target.empty()) args.targets = {target};
    args.options.set_timeout_in_ms(absl::ToInt64Milliseconds(limit));
    return master_->RunStep(Soon(), args).status();
  }

  ScratchDirectory directory_;
  std::unique_ptr<WallClock> clock_;
  std::unique_ptr<ProcessCluster> cluster_;
  std::unique_ptr<GrpcMasterClient> master_;
  std::string session_;
};

TEST_F(ClockJumpTest, AHungTaskIsFoundAfterTheClockWasSetBack) {
  ASSERT_THAT(Run("sum:0", ""), IsOk());
  clock_->Set(-absl::Hours(1));
  cluster_->Pause("worker", 1);
  const absl::Time paused = MonotonicNow();
  EXPECT_THAT(Run("sum:0", ""), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("/job:worker/replica:0/task:1")));
  EXPECT_LT(MonotonicNow() - paused, absl::Seconds(40));
  EXPECT_TRUE(clock_->IsFollowed());
}

TEST_F(ClockJumpTest, AWaitingStepOutlivesAClockThatIsSetOn) {
  auto waiting = std::async(std::launch::async, [this] { return Run("taken:0", ""); });
  // Its timer wakes the thread that would find the other's time over too.
  auto impatient = std::async(std::launch::async, [this] { return Run("taken:0", "", absl::Seconds(2)); });
  for (int i = 0; i < 20; ++i) ASSERT_THAT(Run("sum:0", ""), IsOk());
  clock_->Set(absl::Hours(1));
  EXPECT_THAT(impatient.get(), StatusIs(absl::StatusCode::kDeadlineExceeded));
  ASSERT_THAT(Run("", "put"), IsOk());
  EXPECT_THAT(waiting.get(), IsOk());
  EXPECT_TRUE(clock_->IsFollowed());
}

}  // namespace
}  // namespace weir
