#include "worker/device_memory.h"

#include "absl/algorithm/container.h"
#include "core/gpu/simulated_platform.h"
#include "core/testing.h"
#include "tensorflow/core/protobuf/config.pb.h"
#include "worker/executor/executor_testing.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A graph on one simulated GPU.
class DeviceMemoryTest : public testing::Test {
 protected:
  DeviceMemoryTest() {
    tensorflow::ConfigProto config;
    config.mutable_gpu_options()->set_allow_growth(true);
    made_ = *MakeGpuDevices(SimulatedPlatform({gpu_}), config, *DeviceName::Parse("/job:worker/replica:0/task:0"),
                            work_queue_.get());
  }

  GpuDevice& gpu() { return *made_.devices[0]; }
  absl::Status Prepare() {
    for (Node* node : graph_.graph().nodes()) node->set_assigned_device(gpu().name());
    return PrepareMemory(ExecutorTestKernels(), &gpu(), &graph_.graph(), &options_);
  }
  // The ops of the nodes between `from` and `to`, one for each edge.
  std::vector<std::string> Between(const Out& from, const Out& to) const {
    std::vector<std::string> ops;
    for (const Edge* edge : to.node->in_edges()) {
      if (edge->is_control()) continue;
      if (edge->src == from.node) ops.push_back("");
      for (const Edge* before : edge->src->in_edges()) {
        if (before->src == from.node) ops.push_back(edge->src->op());
      }
    }
    return ops;
  }
  size_t Count(absl::string_view op) {
    return absl::c_count_if(graph_.graph().nodes(), [op](const Node* node) { return node->op() == op; });
  }
  Out Float(const std::string& op, const std::vector<Out>& inputs) {
    return graph_.Add(op, inputs, {TestGraph::A("T", DT_FLOAT)});
  }

  const std::shared_ptr<SimulatedGpu> gpu_ = std::make_shared<SimulatedGpu>(SimulatedGpu::Options());
  const std::unique_ptr<WorkQueue> work_queue_ = WorkQueue::Create({.compute_threads = 1});
  GpuDevices made_;
  TestGraph graph_;
  Plan::Options options_;
};

TEST_F(DeviceMemoryTest, ArgumentsComeFromTheHostAndResultsGoThere) {
  const Out x = graph_.Arg(0, DT_FLOAT), y = Float("Neg", {x});
  graph_.Ret(0, y, DT_FLOAT);
  ASSERT_THAT(Prepare(), IsOk());
  EXPECT_THAT(Between(x, y), ElementsAre("_CopyToDevice"));
  EXPECT_EQ(Count("_CopyToHost"), 1);
}

TEST_F(DeviceMemoryTest, OneCopyServesAllWhoWantIt) {
  const Out x = graph_.Arg(0, DT_FLOAT);
  const Out a = Float("Neg", {x}), b = Float("Square", {x});
  graph_.Ret(0, a, DT_FLOAT);
  graph_.Ret(1, a, DT_FLOAT);
  graph_.Ret(2, b, DT_FLOAT);
  ASSERT_THAT(Prepare(), IsOk());
  EXPECT_EQ(Count("_CopyToDevice"), 1);
  EXPECT_EQ(Count("_CopyToHost"), 2);
}

TEST_F(DeviceMemoryTest, NothingStandsBetweenTwoOfOneMemory) {
  const Out x = graph_.Arg(0, DT_FLOAT), a = Float("Neg", {x}), b = Float("Square", {a});
  ASSERT_THAT(Prepare(), IsOk());
  EXPECT_THAT(Between(a, b), ElementsAre(""));
  EXPECT_EQ(Count("_CopyToHost"), 0);
}

TEST_F(DeviceMemoryTest, ShapesAreReadOnTheHost) {
  const Out x = graph_.Arg(0, DT_FLOAT), a = Float("Neg", {x});
  const Out shape = graph_.Add("Shape", {a}, {TestGraph::A("T", DT_FLOAT), TestGraph::A("out_type", DT_INT32)});
  const Out filled = graph_.Add("Reshape", {a, shape}, {TestGraph::A("T", DT_FLOAT), TestGraph::A("Tshape", DT_INT32)});
  ASSERT_THAT(Prepare(), IsOk());
  EXPECT_THAT(Between(a, shape), ElementsAre(""));
  EXPECT_THAT(Between(shape, filled), ElementsAre(""));
  EXPECT_EQ(Count("_CopyToHost"), 0);
}

TEST_F(DeviceMemoryTest, AConstantForBothMemoriesHasATwin) {
  const Out c = graph_.Const(AsTensor<int64_t>({2, 1}));
  const Out x = graph_.Arg(0, DT_FLOAT), a = Float("Neg", {x});
  const Out doubled = graph_.I64("AddV2", {c, c});
  const Out shaped = graph_.Add("Reshape", {a, c}, {TestGraph::A("T", DT_FLOAT), TestGraph::A("Tshape", DT_INT64)});
  ASSERT_THAT(Prepare(), IsOk());
  EXPECT_EQ(Count("Const"), 2);
  EXPECT_THAT(Between(c, doubled), ElementsAre("", ""));
  EXPECT_THAT(Between(c, shaped), IsEmpty());  // it reads the twin
  ASSERT_OK_AND_ASSIGN(const Tensor placed, options_.place_constant(*c.node, AsTensor<int64_t>({2, 1})));
  EXPECT_FALSE(placed.raw_data() == nullptr);
  EXPECT_GT(gpu_->bytes_allocated(), 0);
}

TEST_F(DeviceMemoryTest, AConstantOfTheHostStaysThere) {
  const Out c = graph_.Const(AsTensor<int64_t>({2, 1}));
  const Out x = graph_.Arg(0, DT_FLOAT), a = Float("Neg", {x});
  graph_.Add("Reshape", {a, c}, {TestGraph::A("T", DT_FLOAT), TestGraph::A("Tshape", DT_INT64)});
  ASSERT_THAT(Prepare(), IsOk());
  ASSERT_OK_AND_ASSIGN(const Tensor placed, options_.place_constant(*c.node, AsTensor<int64_t>({2, 1})));
  EXPECT_EQ(gpu_->bytes_allocated(), 0);
}

TEST_F(DeviceMemoryTest, ACpuHasOneMemory) {
  const auto cpu = NewCpuDevice(*DeviceName::Parse("/job:worker/replica:0/task:0"), 0, work_queue_.get());
  Float("Neg", {graph_.Arg(0, DT_FLOAT)});
  const size_t before = graph_.graph().nodes().size();
  ASSERT_THAT(PrepareMemory(ExecutorTestKernels(), cpu.get(), &graph_.graph(), &options_), IsOk());
  EXPECT_EQ(graph_.graph().nodes().size(), before);
  EXPECT_EQ(options_.place_constant, nullptr);
}

}  // namespace
}  // namespace weir
