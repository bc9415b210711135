#include "worker/stats_collector.h"

#include "core/clock.h"
#include "core/testing.h"
#include "core/threads/work_queue.h"
#include "worker/executor/executor_testing.h"

namespace weir {
namespace {

constexpr char kReceiver[] = "/job:worker/replica:0/task:0/device:CPU:0";
constexpr char kSender[] = "/job:ps/replica:0/task:0/device:CPU:0";

class StatsCollectorTest : public testing::Test {
 protected:
  StatsCollectorTest() : device_(NewCpuDevice(*DeviceName::Parse(kReceiver), 1, queue_.get())) {}

  tensorflow::DeviceStepStats Stats() {
    tensorflow::StepStats stats;
    collector_.AddTo({}, &stats);
    EXPECT_EQ(stats.dev_stats_size(), 1);
    return stats.dev_stats(0);
  }

  const std::unique_ptr<WorkQueue> queue_ = WorkQueue::Create({.name = "test", .compute_threads = 1});
  const std::unique_ptr<Device> device_;
  Plan plan_;
  TestGraph graph_;
  StatsCollector collector_{*device_, plan_, nullptr};
};

TEST_F(StatsCollectorTest, TransfersNameTheirTensorAndPeer) {
  const auto attrs = [](const char* from, const char* to) {
    return std::vector<TestGraph::Attr>{
        TestGraph::A("tensor_name", std::string("edge_1_x")), TestGraph::A("send_device", std::string(from)),
        TestGraph::A("recv_device", std::string(to)), TestGraph::A("send_device_incarnation", int64_t{1})};
  };
  std::vector<TestGraph::Attr> receive = attrs(kSender, kReceiver), send = attrs(kReceiver, kSender);
  receive.push_back(TestGraph::A("tensor_type", DT_INT64));
  send.push_back(TestGraph::A("T", DT_INT64));
  const Out received = graph_.Add("_Recv", {}, receive, {}, "recv");
  const Out sent = graph_.Add("_Send", {received}, send, {}, "send");
  collector_.NodeDone(*received.node, 100, 200, {});
  collector_.NodeDone(*sent.node, 200, 201, {});
  const tensorflow::DeviceStepStats stats = Stats();
  EXPECT_EQ(stats.node_stats(0).timeline_label(), absl::StrCat("recv = _Recv(edge_1_x @", kSender, ")"));
  EXPECT_EQ(stats.node_stats(1).timeline_label(), absl::StrCat("send = _Send(edge_1_x @", kSender, ")"));
}

TEST_F(StatsCollectorTest, ALongLoopIsCountedAndNotKept) {
  const Out node = graph_.Int(1);
  for (size_t i = 0; i < StatsCollector::kMaxEvents + 5; ++i) {
    collector_.NodeDone(*node.node, static_cast<int64_t>(i), static_cast<int64_t>(i) + 1, {});
  }
  const tensorflow::DeviceStepStats stats = Stats();
  ASSERT_EQ(stats.node_stats_size(), StatsCollector::kMaxEvents + 1);
  const tensorflow::NodeExecStats& rest = stats.node_stats(stats.node_stats_size() - 1);
  EXPECT_EQ(rest.node_name(), "5 more nodes");
  EXPECT_EQ(rest.all_end_rel_nanos(), 5);
}

}  // namespace
}  // namespace weir
