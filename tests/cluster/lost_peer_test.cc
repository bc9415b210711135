// A step that waits for another step, which a task that died was to run, fails and names the task.
#include <future>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/testing.h"
#include "distribute/cluster/process_cluster.h"
#include "tests/cluster/test_session.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// As in synchronous training: every worker applies a gradient and takes a token; a step of the chief takes the mean of
// two gradients and gives two tokens. NAME is the worker's node names, DEVICE its device.
constexpr char kShared[] = R"(
  versions { producer: 1882 }
  node { name: "gradients" op: "ConditionalAccumulator" device: "/job:ps/task:0"
         attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape {} } }
         attr { key: "shared_name" value { s: "gradients" } } }
  node { name: "tokens" op: "FIFOQueueV2" device: "/job:ps/task:0"
         attr { key: "component_types" value { list { type: DT_INT64 } } }
         attr { key: "shapes" value { list { shape {} } } }
         attr { key: "shared_name" value { s: "tokens" } } }
  node { name: "others" op: "FIFOQueueV2" device: "/job:ps/task:0"
         attr { key: "component_types" value { list { type: DT_INT64 } } }
         attr { key: "shapes" value { list { shape {} } } }
         attr { key: "shared_name" value { s: "others" } } }
  node { name: "two" op: "Const" device: "/job:ps/task:0" attr { key: "dtype" value { type: DT_INT32 } }
         attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 2 } } } }
  node { name: "now" op: "Const" device: "/job:ps/task:0" attr { key: "dtype" value { type: DT_INT64 } }
         attr { key: "value" value { tensor { dtype: DT_INT64 tensor_shape {} int64_val: 0 } } } }
  node { name: "both" op: "Const" device: "/job:ps/task:0" attr { key: "dtype" value { type: DT_INT64 } }
         attr { key: "value" value { tensor { dtype: DT_INT64 tensor_shape { dim { size: 2 } } int64_val: 0 } } } }
  node { name: "mean" op: "AccumulatorTakeGradient" input: "gradients" input: "two" device: "/job:ps/task:0"
         attr { key: "dtype" value { type: DT_FLOAT } } }
  node { name: "give_tokens" op: "QueueEnqueueManyV2" input: "tokens" input: "both" input: "^mean"
         device: "/job:ps/task:0" attr { key: "Tcomponents" value { list { type: DT_INT64 } } } }
  node { name: "give_other" op: "QueueEnqueueV2" input: "others" input: "now" device: "/job:ps/task:0"
         attr { key: "Tcomponents" value { list { type: DT_INT64 } } } }
  node { name: "take_other" op: "QueueDequeueV2" input: "others" device: "/job:ps/task:0"
         attr { key: "component_types" value { list { type: DT_INT64 } } } })";
constexpr char kOfAWorker[] = R"(
  node { name: "NAME/gradient" op: "Const" device: "DEVICE" attr { key: "dtype" value { type: DT_FLOAT } }
         attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 1 } } } }
  node { name: "NAME/here" op: "Identity" input: "NAME/gradient" device: "DEVICE"
         attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "NAME/apply" op: "AccumulatorApplyGradient" input: "gradients" input: "now" input: "NAME/here"
         device: "/job:ps/task:0" attr { key: "dtype" value { type: DT_FLOAT } } }
  node { name: "NAME/token" op: "QueueDequeueV2" input: "tokens" input: "^NAME/apply" device: "/job:ps/task:0"
         attr { key: "component_types" value { list { type: DT_INT64 } } } })";

class LostPeerTest : public testing::Test {
 protected:
  void StartCluster(int workers) {
    ASSERT_OK_AND_ASSIGN(cluster_,
                         ProcessCluster::Start({.program = WEIR_PROGRAM, .jobs = {{"worker", workers}, {"ps", 1}}}));
  }

  // A session of worker `master`, with the nodes of each listed worker.
  TestSession Open(int master, const std::vector<int>& workers, const std::vector<std::string>& filters) {
    std::string graph = kShared;
    for (const int worker : workers) {
      graph += absl::StrReplaceAll(kOfAWorker, {{"NAME", absl::StrCat("worker", worker)},
                                                {"DEVICE", absl::StrCat("/job:worker/task:", worker)}});
    }
    return TestSession::Open(*cluster_->spec().AddressOf("worker", master), graph, filters);
  }
  // As a worker of between-graph replication: it does not see the others.
  TestSession OpenReplica(int worker) {
    return Open(worker, {worker}, {"/job:ps", absl::StrCat("/job:worker/task:", worker)});
  }

  // A step ends long before its own limit. On an idle machine that takes less than eight seconds
  // (WaitWatchTimesTest.ALossIsNamedWithinEightSeconds), on a busy one more.
  static bool EndsInTime(const std::future<absl::Status>& step) {
    return step.wait_for(std::chrono::seconds(40)) == std::future_status::ready;
  }
  // A step still runs when a loss would long have been noticed.
  static bool GoesOn(const std::future<absl::Status>& step) {
    return step.wait_for(std::chrono::seconds(9)) == std::future_status::timeout;
  }

  std::unique_ptr<ProcessCluster> cluster_;
};

TEST_F(LostPeerTest, ASynchronousStepNamesTheWorkerThatDied) {
  StartCluster(2);
  const TestSession chief = OpenReplica(0), other = OpenReplica(1);
  // One round: both workers, and the chief's own step.
  auto update = chief.Start({"give_tokens"});
  auto mine = chief.Start({"worker0/token"}), theirs = other.Start({"worker1/token"});
  ASSERT_THAT(update.get(), IsOk());
  ASSERT_THAT(mine.get(), IsOk());
  ASSERT_THAT(theirs.get(), IsOk());
  update = chief.Start({"give_tokens"});
  mine = chief.Start({"worker0/token"});
  cluster_->Kill("worker", 1);
  ASSERT_TRUE(EndsInTime(mine));
  ASSERT_TRUE(EndsInTime(update));
  EXPECT_THAT(mine.get(), StatusIs(absl::StatusCode::kUnavailable,
                                   AllOf(HasSubstr("task /job:worker/replica:0/task:1"),
                                         HasSubstr("'worker0/token' (QueueDequeueV2) on /job:ps/replica:0/task:0"),
                                         HasSubstr("queue 'tokens'"))));
  EXPECT_THAT(update.get(), StatusIs(absl::StatusCode::kUnavailable,
                                     AllOf(HasSubstr("task /job:worker/replica:0/task:1"), HasSubstr("'mean'"),
                                           HasSubstr("accumulator 'gradients'"))));
}

TEST_F(LostPeerTest, ASynchronousStepNamesAWorkerThatHangs) {
  StartCluster(2);
  const TestSession chief = OpenReplica(0), other = OpenReplica(1);
  ASSERT_THAT(other.Run({"worker1/apply"}), IsOk());
  ASSERT_THAT(chief.Run({"worker0/apply"}), IsOk());
  ASSERT_THAT(chief.Run({"mean"}), IsOk());
  cluster_->Pause("worker", 1);
  auto step = chief.Start({"mean"});
  ASSERT_TRUE(EndsInTime(step));
  EXPECT_THAT(step.get(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("task /job:worker/replica:0/task:1")));
}

TEST_F(LostPeerTest, ASynchronousStepNamesAWorkerThatRestarted) {
  StartCluster(2);
  const TestSession chief = OpenReplica(0);
  {
    const TestSession other = OpenReplica(1);
    ASSERT_THAT(other.Run({"worker1/apply"}), IsOk());
  }
  auto step = chief.Start({"mean"});
  cluster_->Kill("worker", 1);
  ASSERT_THAT(cluster_->Restart("worker", 1), IsOk());
  ASSERT_TRUE(EndsInTime(step));
  EXPECT_THAT(step.get(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("task /job:worker/replica:0/task:1")));
  // The new one takes the place of the old one once it has used the accumulator.
  const TestSession again = OpenReplica(1);
  ASSERT_THAT(again.Run({"worker1/apply"}), IsOk());
  EXPECT_THAT(chief.Run({"mean"}), IsOk());
}

// Two of three workers are enough: the death of the third concerns no step that the others end.
TEST_F(LostPeerTest, AWaitThatALivingWorkerEndsGoesOn) {
  StartCluster(3);
  const TestSession chief = OpenReplica(0), backup = OpenReplica(1), other = OpenReplica(2);
  for (const TestSession* session : {&backup, &other}) ASSERT_THAT(session->Run({"give_other"}), IsOk());
  ASSERT_THAT(chief.Run({"take_other"}), IsOk());
  ASSERT_THAT(chief.Run({"take_other"}), IsOk());
  auto step = chief.Start({"take_other"});
  cluster_->Kill("worker", 2);
  EXPECT_TRUE(GoesOn(step));
  ASSERT_THAT(backup.Run({"give_other"}), IsOk());
  EXPECT_THAT(step.get(), IsOk());
}

TEST_F(LostPeerTest, AWaitThatNoDeathConcernsGoesOn) {
  StartCluster(3);
  const TestSession chief = OpenReplica(0), other = OpenReplica(1), closed = OpenReplica(2);
  // Worker 1 uses another object, and worker 2 has closed its session.
  ASSERT_THAT(other.Run({"worker1/apply"}), IsOk());
  ASSERT_THAT(closed.Run({"give_other"}), IsOk());
  ASSERT_THAT(closed.Close(), IsOk());
  ASSERT_THAT(chief.Run({"take_other"}), IsOk());
  auto step = chief.Start({"take_other"});
  cluster_->Kill("worker", 1);
  cluster_->Kill("worker", 2);
  EXPECT_TRUE(GoesOn(step));
  ASSERT_THAT(chief.Run({"give_other"}), IsOk());
  EXPECT_THAT(step.get(), IsOk());
}

// With one master for all, which has no part of the step on the lost task.
TEST_F(LostPeerTest, AStepOfTheSameSessionNamesTheTaskThatDied) {
  StartCluster(2);
  const TestSession session = Open(0, {0, 1}, {});
  ASSERT_THAT(session.Run({"worker1/apply"}), IsOk());
  ASSERT_THAT(session.Run({"worker0/apply"}), IsOk());
  ASSERT_THAT(session.Run({"mean"}), IsOk());
  ASSERT_THAT(session.Run({"worker0/apply"}), IsOk());
  auto step = session.Start({"mean"});
  cluster_->Kill("worker", 1);
  ASSERT_TRUE(EndsInTime(step));
  EXPECT_THAT(step.get(), StatusIs(absl::StatusCode::kUnavailable,
                                   AllOf(HasSubstr("task /job:worker/replica:0/task:1"),
                                         HasSubstr("node 'mean' (AccumulatorTakeGradient) on /job:ps/replica:0/task:0"),
                                         HasSubstr("accumulator 'gradients'"))));
}

}  // namespace
}  // namespace weir
