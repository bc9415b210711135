#include "graph/placement/kernel_times.h"

#include "core/testing.h"
#include "tensorflow/core/framework/cost_graph.pb.h"
#include "tensorflow/core/framework/step_stats.pb.h"

namespace weir {
namespace {

constexpr char kCpu[] = "/job:worker/replica:0/task:0/device:CPU:0";

void AddNode(tensorflow::StepStats* stats, const std::string& lane, const std::string& name, int64_t nanos) {
  auto* const device = stats->add_dev_stats();
  device->set_device(lane);
  auto* const node = device->add_node_stats();
  node->set_node_name(name);
  node->set_op_end_rel_nanos(nanos);
}

TEST(KernelTimesTest, TheTimeIsTheMeanOverSteps) {
  KernelTimes times;
  for (const int64_t nanos : {1000, 3000}) {
    tensorflow::StepStats stats;
    AddNode(&stats, kCpu, "a", nanos);
    times.Add(stats);
  }
  ASSERT_NE(times.Find("a"), nullptr);
  EXPECT_NEAR(times.Find("a")->seconds, 2e-6, 1e-12);
  EXPECT_EQ(times.Find("a")->device, kCpu);
  EXPECT_EQ(times.num_steps(), 2);
  EXPECT_EQ(times.Find("b"), nullptr);
}

TEST(KernelTimesTest, ANodeThatMovedStartsAgain) {
  KernelTimes times;
  tensorflow::StepStats first, second;
  AddNode(&first, kCpu, "a", 9000);
  AddNode(&second, "/job:worker/replica:0/task:1/device:CPU:0", "a", 1000);
  times.Add(first);
  times.Add(second);
  EXPECT_NEAR(times.Find("a")->seconds, 1e-6, 1e-12);
}

// A GPU's streams are lanes beside the device.
TEST(KernelTimesTest, IterationsAreSummedAndOtherLanesIgnored) {
  tensorflow::StepStats stats;
  AddNode(&stats, kCpu, "a", 1000);
  *stats.mutable_dev_stats(0)->add_node_stats() = stats.dev_stats(0).node_stats(0);
  AddNode(&stats, absl::StrCat(kCpu, "/stream:all"), "a", 50'000);
  KernelTimes times;
  times.Add(stats);
  EXPECT_NEAR(times.Find("a")->seconds, 2e-6, 1e-12);
}

TEST(KernelTimesTest, CostGraphsHaveMicroseconds) {
  tensorflow::CostGraphDef costs;
  auto* const node = costs.add_node();
  node->set_name("a");
  node->set_device(kCpu);
  node->set_compute_time(7);
  KernelTimes times;
  times.Add(costs);
  EXPECT_NEAR(times.Find("a")->seconds, 7e-6, 1e-12);
}

}  // namespace
}  // namespace weir
