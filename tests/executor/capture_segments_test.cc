#include "worker/capture/capture_segments.h"

#include <future>

#include "absl/algorithm/container.h"
#include "core/gpu/gpu_capture.h"
#include "core/gpu/graph_ops.h"
#include "core/gpu/simulated_platform.h"
#include "core/logging.h"
#include "core/testing.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tests/gpu/plain_runtime.h"
#include "worker/device_memory.h"
#include "worker/executor/executor_testing.h"
#include "worker/executor/node_kernel.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr size_t kMemory = 1 << 20;
constexpr char kKeeps[] = "keeps";

// Captures end with an error as long as it is told so.
class SpoilingStream : public PlainStream {
 public:
  SpoilingStream(std::unique_ptr<GpuStream> stream, GpuRuntime* runtime, const bool* spoils)
      : PlainStream(std::move(stream), runtime), spoils_(spoils) {}
  absl::StatusOr<std::unique_ptr<GpuGraph>> EndCapture() override {
    ASSIGN_OR_RETURN(std::unique_ptr<GpuGraph> graph, PlainStream::EndCapture());
    if (*spoils_) return errors::Internal("the capture is spoiled");
    return graph;
  }

 private:
  const bool* const spoils_;
};

class SpoilingRuntime : public PlainRuntime {
 public:
  SpoilingRuntime(std::shared_ptr<GpuRuntime> gpu, const bool* spoils)
      : PlainRuntime(std::move(gpu)), spoils_(spoils) {}

 protected:
  std::unique_ptr<GpuStream> Wrap(std::unique_ptr<GpuStream> stream) override {
    return std::make_unique<SpoilingStream>(std::move(stream), this, spoils_);
  }

 private:
  const bool* const spoils_;
};

// Computes as `kernel` does, and has an object that its work needs.
class KeepingKernel : public OpKernel {
 public:
  KeepingKernel(std::shared_ptr<OpKernel> kernel, std::weak_ptr<const int>* kept)
      : kernel_(std::move(kernel)), kept_(kept) {}
  absl::Status Compute(OpKernelContext& ctx) override {
    if (GpuCapture* const capture = GpuCapture::Current()) {
      auto object = std::make_shared<const int>(1);
      *kept_ = object;
      capture->Keep(std::move(object));
    }
    return kernel_->Compute(ctx);
  }

 private:
  const std::shared_ptr<OpKernel> kernel_;
  std::weak_ptr<const int>* const kept_;
};

// A graph that is all on one simulated GPU, and captured after one run.
class CaptureSegmentsTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(gpu_,
                         GpuDevice::Create(std::make_shared<SpoilingRuntime>(simulated_, &spoils_), work_queue_.get(),
                                           {.task = *DeviceName::Parse("/job:worker/replica:0/task:0"),
                                            .config = {.memory_limit = kMemory, .allow_growth = true},
                                            .retry_for = absl::ZeroDuration()}));
  }
  ~CaptureSegmentsTest() override {
    executor_.reset();
    EXPECT_THAT(simulated_->Races(), IsEmpty());
    if (gpu_ == nullptr) return;
    EXPECT_EQ(gpu_->memory().Stats().num_pools, 0);
  }

  Out Float(const std::string& op, const std::vector<Out>& inputs, std::string name = "") {
    return graph_.Add(op, inputs, {TestGraph::A("T", DT_FLOAT)}, {}, std::move(name));
  }
  // x * x - x, by four kernels.
  Out Difference(Out x) {
    return Float("AddV2", {Float("Neg", {x}), Float("Neg", {Float("Neg", {Float("Square", {x})})})});
  }

  absl::Status Compile() {
    for (Node* node : graph_.graph().nodes()) node->set_assigned_device(gpu_->name());
    Plan::Options options{.device = gpu_.get(), .is_function = true};
    options.kernels = [this](const Node& node) -> absl::StatusOr<std::shared_ptr<OpKernel>> {
      ASSIGN_OR_RETURN(std::shared_ptr<OpKernel> kernel,
                       CreateNodeKernel(ExecutorTestKernels(), ExecutorTestOps(), node, gpu_.get(), nullptr));
      if (node.name() != kKeeps) return kernel;
      return std::make_shared<KeepingKernel>(std::move(kernel), &kept_);
    };
    std::unique_ptr<Graph> graph = graph_.Take();
    RETURN_IF_ERROR(PrepareMemory(ExecutorTestKernels(), gpu_.get(), graph.get(), &options));
    RETURN_IF_ERROR(CaptureSegments(options_, ExecutorTestKernels(), gpu_.get(), gpu_.get(), graph.get(), &options));
    ASSIGN_OR_RETURN(std::shared_ptr<const Plan> plan, Plan::Compile(std::move(graph), options));
    executor_ = Executor::Create(std::move(plan));
    return absl::OkStatus();
  }
  absl::StatusOr<std::vector<Tensor>> Run(std::vector<Tensor> arguments) {
    std::vector<Tensor> results;
    StepContext step{.device = gpu_.get()};
    RETURN_IF_ERROR(executor_->RunSync({.context = &step, .arguments = arguments, .results = &results}));
    return results;
  }
  // Runs what gives x * x - x.
  void ExpectDifference(float value, int size = 1) {
    ASSERT_OK_AND_ASSIGN(const auto results, Run({AsTensor<float>(std::vector<float>(size, value))}));
    ExpectTensorEqual(results[0], AsTensor<float>(std::vector<float>(size, value * value - value)));
  }
  size_t NumSegments() const {
    return absl::c_count_if(executor_->plan().nodes,
                            [](const PlanNode& node) { return node.node->op() == kGpuGraphOp; });
  }

  const std::shared_ptr<SimulatedGpu> simulated_ = std::make_shared<SimulatedGpu>(SimulatedGpu::Options());
  const std::unique_ptr<WorkQueue> work_queue_ = WorkQueue::Create({.compute_threads = 1});
  bool spoils_ = false;
  std::weak_ptr<const int> kept_;  // by the node kKeeps
  std::unique_ptr<GpuDevice> gpu_;
  TestGraph graph_;
  SegmentOptions options_{.warm_ups = 1};
  std::shared_ptr<Executor> executor_;
};

TEST_F(CaptureSegmentsTest, IsCapturedOnceAndReplayedFromThenOn) {
  graph_.Ret(0, Difference(graph_.Arg(0, DT_FLOAT)), DT_FLOAT);
  ASSERT_THAT(Compile(), IsOk());
  EXPECT_EQ(NumSegments(), 1);
  for (int step = 0; step < 5; ++step) ExpectDifference(static_cast<float>(step));
  EXPECT_EQ(gpu_->graph_stats().captures, 1);
  EXPECT_EQ(gpu_->graph_stats().replays, 4);
  EXPECT_EQ(simulated_->NumEnqueued("graph"), 4);
  EXPECT_EQ(gpu_->memory().Stats().num_pools, 1);
}

// What is costly on the host is handed to other threads, for which a compute thread cannot wait.
TEST_F(CaptureSegmentsTest, RunsWithoutAGraphOnTheOnlyComputeThread) {
  const Out x = graph_.Arg(0, DT_FLOAT), numbers = graph_.Arg(1, DT_INT32);
  graph_.Ret(0, Difference(x), DT_FLOAT);
  const Out axis = graph_.Const(AsTensor<int32_t>({0}));
  for (int i = 1; i <= 4; ++i) {
    graph_.Ret(i, graph_.Add("Sum", {numbers, axis}, {TestGraph::A("T", DT_INT32)}), DT_INT32);
  }
  options_.warm_ups = 1'000;
  ASSERT_THAT(Compile(), IsOk());
  const std::vector<Tensor> arguments = {AsTensor<float>({3}), AsTensor<int32_t>(std::vector<int32_t>(1 << 20, 2))};
  for (int step = 0; step < 8; ++step) {
    std::vector<Tensor> results;
    StepContext context{.device = gpu_.get()};
    std::promise<absl::Status> done;
    executor_->RunAsync({.context = &context, .arguments = arguments, .results = &results}, /*on_caller=*/false,
                        [&done](absl::Status status) { done.set_value(std::move(status)); });
    ASSERT_THAT(done.get_future().get(), IsOk());
    ASSERT_EQ(results[4].data<int32_t>()[0], 2 << 20);
  }
}

TEST_F(CaptureSegmentsTest, AConstantOfSeveralSegmentsIsInMemoryOnce) {
  constexpr int kElements = 10'000;
  const Out weights = graph_.Const(AsTensor<float>(std::vector<float>(kElements, 1)));
  const Out y = Difference(Float("Mul", {graph_.Arg(0, DT_FLOAT), weights}));
  const Out shape = graph_.Const(AsTensor<int32_t>({kElements}));
  const Out random =
      graph_.Add("RandomUniform", {shape}, {TestGraph::A("T", DT_INT32), TestGraph::A("dtype", DT_FLOAT)}, {y.node});
  graph_.Ret(0, Difference(Float("AddV2", {Float("ZerosLike", {random}), weights})), DT_FLOAT);
  ASSERT_THAT(Compile(), IsOk());
  ASSERT_EQ(NumSegments(), 2);
  EXPECT_LT(gpu_->memory().Stats().bytes_in_use, 2 * kElements * sizeof(float));
}

TEST_F(CaptureSegmentsTest, FewKernelsAreLeftAlone) {
  graph_.Ret(0, Float("Neg", {Float("Square", {graph_.Arg(0, DT_FLOAT)})}), DT_FLOAT);
  ASSERT_THAT(Compile(), IsOk());
  EXPECT_EQ(NumSegments(), 0);
}

TEST_F(CaptureSegmentsTest, WhatCannotBeCapturedDividesTheRest) {
  const Out y = Difference(graph_.Arg(0, DT_FLOAT));
  const Out shape = graph_.Const(AsTensor<int32_t>({1}));
  const Out random =
      graph_.Add("RandomUniform", {shape}, {TestGraph::A("T", DT_INT32), TestGraph::A("dtype", DT_FLOAT)}, {y.node});
  graph_.Ret(0, Difference(Float("Mul", {y, Float("ZerosLike", {random})})), DT_FLOAT);
  graph_.Ret(1, y, DT_FLOAT);
  ASSERT_THAT(Compile(), IsOk());
  EXPECT_EQ(NumSegments(), 2);
  for (int step = 0; step < 4; ++step) {
    ASSERT_OK_AND_ASSIGN(const auto results, Run({AsTensor<float>({3})}));
    ExpectTensorEqual(results[0], AsTensor<float>({0}));
    ExpectTensorEqual(results[1], AsTensor<float>({6}));
  }
  EXPECT_EQ(gpu_->graph_stats().replays, 6);
}

TEST_F(CaptureSegmentsTest, GraphsForShapesAreKeptUpToABound) {
  graph_.Ret(0, Difference(graph_.Arg(0, DT_FLOAT)), DT_FLOAT);
  ASSERT_THAT(Compile(), IsOk());
  for (int size = 1; size <= 12; ++size) {
    for (int step = 0; step < 6; ++step) ExpectDifference(2, size);
  }
  EXPECT_EQ(gpu_->graph_stats().captures, 12);
  EXPECT_EQ(gpu_->graph_stats().dropped, 4);
  EXPECT_EQ(gpu_->memory().Stats().num_pools, 8);
}

TEST_F(CaptureSegmentsTest, ShapesThatChangeTooOftenEndIt) {
  graph_.Ret(0, Difference(graph_.Arg(0, DT_FLOAT)), DT_FLOAT);
  ASSERT_THAT(Compile(), IsOk());
  for (int size = 1; size <= 20; ++size) {
    for (int step = 0; step < 2; ++step) ExpectDifference(2, size);
  }
  EXPECT_EQ(gpu_->graph_stats().captures, 8);
  EXPECT_EQ(gpu_->graph_stats().dropped, 8);
  EXPECT_EQ(gpu_->memory().Stats().num_pools, 0);
}

TEST_F(CaptureSegmentsTest, WhatTheWorkOfAKernelNeedsIsKeptAsLongAsTheGraph) {
  graph_.Ret(0, Difference(Float("Abs", {graph_.Arg(0, DT_FLOAT)}, kKeeps)), DT_FLOAT);
  ASSERT_THAT(Compile(), IsOk());
  for (int step = 0; step < 3; ++step) ExpectDifference(2);
  EXPECT_FALSE(kept_.expired());
  executor_.reset();
  EXPECT_TRUE(kept_.expired());
}

TEST_F(CaptureSegmentsTest, ACaptureThatFailsIsRunPlainlyAndGivenUpInTheEnd) {
  graph_.Ret(0, Difference(graph_.Arg(0, DT_FLOAT)), DT_FLOAT);
  ASSERT_THAT(Compile(), IsOk());
  spoils_ = true;
  for (int step = 0; step < 12; ++step) ExpectDifference(3);
  EXPECT_EQ(gpu_->graph_stats().failures, 3);
  EXPECT_EQ(gpu_->graph_stats().captures, 0);
  spoils_ = false;
  for (int step = 0; step < 3; ++step) ExpectDifference(3);
  EXPECT_EQ(gpu_->graph_stats().captures, 0);
}

TEST_F(CaptureSegmentsTest, ACaptureThatFailedOnceIsTriedAgain) {
  graph_.Ret(0, Difference(graph_.Arg(0, DT_FLOAT)), DT_FLOAT);
  ASSERT_THAT(Compile(), IsOk());
  spoils_ = true;
  for (int step = 0; step < 2; ++step) ExpectDifference(3);
  spoils_ = false;
  for (int step = 0; step < 4; ++step) ExpectDifference(3);
  EXPECT_EQ(gpu_->graph_stats().failures, 1);
  EXPECT_EQ(gpu_->graph_stats().captures, 1);
  EXPECT_EQ(gpu_->graph_stats().replays, 3);
}

// A step has room for what it uses, but the buffers of a graph beside it have not.
TEST_F(CaptureSegmentsTest, WithoutMemoryForAGraphStepsRunPlainly) {
  graph_.Ret(0, Difference(graph_.Arg(0, DT_FLOAT)), DT_FLOAT);
  ASSERT_THAT(Compile(), IsOk());
  const int size = kMemory / sizeof(float) / 4;
  for (int step = 0; step < 4; ++step) ExpectDifference(2, size);
  EXPECT_GT(gpu_->graph_stats().failures, 0);
  EXPECT_EQ(gpu_->graph_stats().captures, 0);
  EXPECT_EQ(gpu_->memory().Stats().num_pools, 0);
}

TEST_F(CaptureSegmentsTest, WhatGraphsKeepIsToldWhereMemoryIsWanting) {
  graph_.Ret(0, Difference(graph_.Arg(0, DT_FLOAT)), DT_FLOAT);
  ASSERT_THAT(Compile(), IsOk());
  for (int step = 0; step < 3; ++step) ExpectDifference(2, 1000);
  ASSERT_EQ(gpu_->graph_stats().captures, 1);
  gpu_->memory().SetReclaim(nullptr);
  const absl::Status refused = gpu_->memory().Allocate(kMemory, &gpu_->compute()).status();
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kResourceExhausted,
                                AllOf(HasSubstr("of which 1 captured graphs keep "), HasSubstr("captured graph '"))));
}

// What others want goes before what graphs keep.
TEST_F(CaptureSegmentsTest, GraphsAreDroppedWhereStepsWantTheMemory) {
  graph_.Ret(0, Difference(graph_.Arg(0, DT_FLOAT)), DT_FLOAT);
  ASSERT_THAT(Compile(), IsOk());
  for (int step = 0; step < 3; ++step) ExpectDifference(2, 40'000);
  ASSERT_GT(gpu_->memory().Stats().bytes_in_pools, 400'000);
  // There is room for such a step where the graph is not.
  for (int step = 0; step < 2; ++step) ExpectDifference(2, 45'000);
  EXPECT_GT(gpu_->graph_stats().dropped, 0);
}

TEST_F(CaptureSegmentsTest, ADeviceThatBreaksDuringAReplayFailsTheStep) {
  graph_.Ret(0, Difference(graph_.Arg(0, DT_FLOAT)), DT_FLOAT);
  ASSERT_THAT(Compile(), IsOk());
  for (int step = 0; step < 3; ++step) ExpectDifference(2);
  simulated_->FailNextOperation(GpuError::kIllegalAddress);
  for (int step = 0; step < 2; ++step) {  // for good
    EXPECT_THAT(Run({AsTensor<float>({1})}).status(),
                StatusIs(absl::StatusCode::kInternal, HasSubstr("illegal memory access")));
  }
}

TEST(CaptureOptionsTest, AreAmongTheCustomOptimizers) {
  tensorflow::GraphOptions options;
  EXPECT_EQ(*CaptureOptionsOf(options), std::nullopt);
  auto* const optimizer = options.mutable_rewrite_options()->add_custom_optimizers();
  optimizer->set_name(kGpuGraphsOptimizer);
  ASSERT_TRUE((*CaptureOptionsOf(options)).has_value());
  (*optimizer->mutable_parameter_map())["min_kernels"].set_i(9);
  EXPECT_EQ((*CaptureOptionsOf(options))->min_kernels, 9);
  (*optimizer->mutable_parameter_map())["min_kernels"].set_i(-1);
  EXPECT_THAT(CaptureOptionsOf(options).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("min_kernels")));
  optimizer->mutable_parameter_map()->clear();
  (*optimizer->mutable_parameter_map())["speed"].set_i(1);
  EXPECT_THAT(CaptureOptionsOf(options).status(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("speed")));
}

}  // namespace
}  // namespace weir
