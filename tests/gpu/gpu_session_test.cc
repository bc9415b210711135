// Tests of sessions that are specific to GPUs.
#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "client/function_builder.h"
#include "client/initializers.h"
#include "client/variables.h"
#include "client/while_loop.h"
#include "core/clock.h"
#include "core/gpu/gpu_devices.h"
#include "core/gpu/simulated_platform.h"
#include "distribute/cluster/reserved_port.h"
#include "tensorflow/core/protobuf/master.pb.h"
#include "tests/gpu/forgetful_runtime.h"
#include "tests/gpu/gpu_session_testing.h"
#include "tests/gpu/plain_runtime.h"
#include "tools/server.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr char kTask[] = "/job:localhost/replica:0/task:0";

TEST_F(GpuSessionTest, DevicesAreListed) {
  ASSERT_OK_AND_ASSIGN(const std::vector<DeviceInfo> devices, session().ListDevices());
  std::vector<std::string> names;
  for (const DeviceInfo& device : devices) {
    names.push_back(device.name);
    if (device.type != "GPU") continue;
    EXPECT_NE(device.incarnation, 0);
    EXPECT_GT(device.memory_limit, 0);
    EXPECT_THAT(device.physical_device_desc, HasSubstr("name: Simulated GPU"));
  }
  EXPECT_THAT(names,
              testing::UnorderedElementsAre(absl::StrCat(kTask, "/device:CPU:0"), absl::StrCat(kTask, "/device:GPU:0"),
                                            absl::StrCat(kTask, "/device:GPU:1")));
}

TEST_F(GpuSessionTest, ASessionThatCountsNoneHasNone) {
  (*options_.config->mutable_device_count())["GPU"] = 0;
  ASSERT_OK_AND_ASSIGN(const std::vector<DeviceInfo> devices, session().ListDevices());
  EXPECT_EQ(devices.size(), 1);
}

TEST_F(GpuSessionTest, FeedsAndFetchesGoThereAndBack) {
  const Output x = ops::Placeholder(Gpu(), DT_FLOAT);
  const Output y = ops::Neg(Gpu(), x);
  ExpectTensorEqual(Run({{x, AsTensor<float>({1, 2})}}, {y})[0], AsTensor<float>({-1, -2}));
  EXPECT_GT(gpus_[0]->num_allocations(), 0);
}

TEST_F(GpuSessionTest, AnOpWithoutDevicePrefersTheGpu) {
  const Output x = ops::Placeholder(scope_, DT_FLOAT);
  const Output y = ops::Neg(scope_, x);
  tensorflow::RunOptions options;
  options.set_output_partition_graphs(true);
  tensorflow::RunMetadata metadata;
  ASSERT_OK_AND_ASSIGN(const auto fetched, session().Run({{x, AsScalar<float>(2)}}, {y}, {}, options, &metadata));
  ExpectTensorEqual(fetched[0], AsScalar<float>(-2));
  std::string neg;
  for (const auto& graph : metadata.partition_graphs()) {
    for (const auto& node : graph.node()) {
      if (node.op() == "Neg") neg = node.device();
    }
  }
  EXPECT_EQ(neg, absl::StrCat(kTask, "/device:GPU:0"));
}

// As a device of its own, as TensorFlow's timelines have it.
TEST_F(GpuSessionTest, ATraceSaysWhenTheGpuWorkedForWhichNode) {
  const Output x = ops::Placeholder(Gpu(), DT_FLOAT);
  const Output first = ops::Neg(Gpu().WithName("first"), x), second = ops::Square(Gpu().WithName("second"), first);
  tensorflow::RunOptions options;
  options.set_trace_level(tensorflow::RunOptions::FULL_TRACE);
  tensorflow::RunMetadata metadata;
  const int64_t before = absl::ToUnixNanos(MonotonicNow());
  ASSERT_THAT(session().Run({{x, AsScalar<float>(2)}}, {second}, {}, options, &metadata), IsOk());
  const int64_t after = absl::ToUnixNanos(MonotonicNow());
  std::vector<std::string> names;
  int64_t end = before;
  for (const auto& device : metadata.step_stats().dev_stats()) {
    if (device.device() != absl::StrCat(kTask, "/device:GPU:0/stream:all")) continue;
    for (const auto& node : device.node_stats()) {
      EXPECT_GE(node.all_start_nanos(), end) << node.node_name();
      EXPECT_GE(node.all_end_rel_nanos(), 0) << node.node_name();
      end = node.all_start_nanos() + node.all_end_rel_nanos();
      if (!absl::StartsWith(node.node_name(), "_")) names.push_back(node.node_name());
    }
  }
  EXPECT_LE(end, after);
  EXPECT_THAT(names, testing::IsSupersetOf({"first:Neg", "second:Square"}));
}

TEST_F(GpuSessionTest, TensorsPassBetweenDevices) {
  const Output x = ops::Placeholder(Cpu(), DT_FLOAT);
  const Output a = ops::Neg(Gpu(0), x), b = ops::Square(Gpu(1), a), c = ops::AddV2(Cpu(), b, x);
  const Output d = ops::Mul(Gpu(0), c, a);
  const auto out = Run({{x, AsTensor<float>({1, 2, 3})}}, {b, c, d});
  ExpectTensorEqual(out[0], AsTensor<float>({1, 4, 9}));
  ExpectTensorEqual(out[1], AsTensor<float>({2, 6, 12}));
  ExpectTensorEqual(out[2], AsTensor<float>({-2, -12, -36}));
}

TEST_F(GpuSessionTest, BetweenGpusTensorsDoNotTouchTheHost) {
  const Output x = ops::Placeholder(Gpu(0), DT_FLOAT), a = ops::Neg(Gpu(0), x);
  const Output b = ops::Square(Gpu(1), a), c = ops::AddV2(Gpu(1), b, a), d = ops::Neg(Gpu(0), c);
  const Output back = ops::AddV2(Gpu(0), d, ops::Square(Gpu(0), a));
  const int count = 1000;
  for (int step = 0; step < 5; ++step) {
    const auto value = static_cast<float>(step);
    const auto out = Run({{x, AsTensor<float>(std::vector<float>(count, value))}}, {back});
    ExpectTensorEqual(out[0], AsTensor<float>(std::vector<float>(count, value)));
  }
  EXPECT_EQ(gpus_[0]->NumEnqueued("copy to peer"), 5);
  EXPECT_EQ(gpus_[1]->NumEnqueued("copy to peer"), 5);
  EXPECT_EQ(gpus_[0]->NumEnqueued("copy to host"), 5);  // what is fetched
  EXPECT_EQ(gpus_[1]->NumEnqueued("copy to host"), 0);
}

TEST_F(GpuSessionTest, ThroughTheHostWhereAGpuReachesNoOther) {
  wrap_ = [](std::shared_ptr<SimulatedGpu> gpu) { return std::make_shared<PlainRuntime>(std::move(gpu)); };
  const Output x = ops::Placeholder(Gpu(0), DT_FLOAT);
  const Output y = ops::Square(Gpu(1), ops::Neg(Gpu(0), x));
  ExpectTensorEqual(Run({{x, AsTensor<float>({1, 2})}}, {y})[0], AsTensor<float>({1, 4}));
  EXPECT_EQ(gpus_[0]->NumEnqueued("copy to peer"), 0);
  EXPECT_EQ(gpus_[0]->NumEnqueued("copy to host"), 1);
}

TEST_F(GpuSessionTest, APeerThatBreaksFailsTheStep) {
  const Output x = ops::Placeholder(Gpu(0), DT_FLOAT);
  const Output y = ops::Square(Gpu(1), ops::Neg(Gpu(0), x));
  const FeedList feeds = {{x, AsTensor<float>({1, 2})}};
  Run(feeds, {y});
  gpus_[0]->FailNextOperation(GpuError::kIllegalAddress);
  EXPECT_THAT(session().Run(feeds, {y}).status(),
              StatusIs(absl::StatusCode::kInternal, AllOf(HasSubstr("illegal memory access"), HasSubstr("GPU:0"))));
}

TEST_F(GpuSessionTest, AConstantServesBothMemories) {
  const Output c = Gpu().Constant(AsTensor<int64_t>({2, 1}));
  const Output doubled = ops::AddV2(Gpu(), c, c);
  const Output shaped = ops::Reshape(Gpu(), Gpu().Constant(AsTensor<float>({5, 6})), c);
  const auto out = Run({}, {c, doubled, shaped});
  ExpectTensorEqual(out[0], AsTensor<int64_t>({2, 1}));
  ExpectTensorEqual(out[1], AsTensor<int64_t>({4, 2}));
  ExpectTensorEqual(out[2], AsTensor<float>({5, 6}, {2, 1}));
}

TEST_F(GpuSessionTest, Int32IsComputedOnTheHost) {
  const Output x = ops::Placeholder(Gpu(), DT_FLOAT);
  const Output rows = ops::StridedSlice(Gpu(), ops::Shape(Gpu(), x), AsTensor<int32_t>({0}), AsTensor<int32_t>({1}),
                                        AsTensor<int32_t>({1}), {.shrink_axis_mask = 1});
  const Output twice = ops::Mul(Gpu(), rows, 2);
  ExpectTensorEqual(Run({{x, Tensor(DT_FLOAT, TensorShape({3, 2}))}}, {twice})[0], AsScalar<int32_t>(6));
}

TEST_F(GpuSessionTest, VariablesLiveThereAndReadersKeepWhatTheyRead) {
  const ResourceVariable v = ResourceVariable::Make(Gpu().WithName("v"), TensorShape({2}), DT_FLOAT,
                                                    initializers::Value(AsTensor<float>({1, 2})));
  const Output before = ops::Identity(Gpu(), v.value());
  const Scope after = Gpu().WithControlDependencies(std::vector<Output>{before});
  const Operation add = v.AssignAdd(after, AsTensor<float>({10, 20}));
  const Output sum = ops::AddV2(Gpu().WithControlDependencies(std::vector<Operation>{add}), before, before);
  for (int step = 0; step < 3; ++step) {
    const auto out = Run({}, {before, sum}, {add});
    ExpectTensorEqual(out[0], AsTensor<float>({1.0f + 10 * step, 2.0f + 20 * step}));
    ExpectTensorEqual(out[1], AsTensor<float>({2.0f + 20 * step, 4.0f + 40 * step}));
  }
  ExpectTensorEqual(Fetch(v.value()), AsTensor<float>({31, 62}));
  ExpectTensorEqual(Fetch(ops::VariableShape(Gpu(), v.handle())), AsTensor<int32_t>({2}));
}

TEST_F(GpuSessionTest, ALoopRunsAcrossDevices) {
  const Output z = ops::Placeholder(Gpu(1), DT_FLOAT);
  const OutputList last = WhileLoop(
      Gpu(0), {Gpu(0).Constant(0), Gpu(0).Constant(1.0f), Gpu(0).Constant(0.0f)},
      [](const Scope& s, const OutputList& v) { return ops::Less(s, v[0], 10); },
      [&](const Scope& s, const OutputList& v) {
        const Output product = ops::Mul(s.WithDevice("/device:GPU:1"), v[1], z);
        return OutputList{ops::AddV2(s, v[0], 1), product, ops::AddV2(s.WithDevice("/device:CPU:0"), v[2], product)};
      });
  ASSERT_TRUE(scope_.ok()) << scope_.status();
  const auto out = Run({{z, AsScalar<float>(2)}}, {last[0], last[1], last[2]});
  ExpectTensorEqual(out[0], AsScalar<int32_t>(10));
  ExpectTensorEqual(out[1], AsScalar<float>(1024));
  ExpectTensorEqual(out[2], AsScalar<float>(2046));
}

TEST_F(GpuSessionTest, ALoopOnAFloatConditionOfTheGpu) {
  const OutputList last = WhileLoop(
      Gpu(), {Gpu().Constant(1.0f)}, [](const Scope& s, const OutputList& v) { return ops::Less(s, v[0], 100.0f); },
      [&](const Scope& s, const OutputList& v) { return OutputList{ops::AddV2(s, v[0], v[0])}; });
  ExpectTensorEqual(Fetch(last[0]), AsScalar<float>(128));
}

TEST_F(GpuSessionTest, WithoutKernelAndSoftPlacementTheSessionSaysSo) {
  const Output y = ops::Cholesky(Gpu(), Gpu().Constant(AsTensor<float>({4}, {1, 1})));
  EXPECT_THAT(session().Run({y}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("Could not satisfy explicit device specification '/device:GPU:0' because no "
                                       "supported kernel for GPU devices is available"),
                             HasSubstr("Op: Cholesky"))));
}

TEST_F(GpuSessionTest, WithSoftPlacementItGoesToTheCpu) {
  options_.config->set_allow_soft_placement(true);
  const Output y = ops::Cholesky(Gpu(), Gpu().Constant(AsTensor<float>({4}, {1, 1})));
  ExpectTensorEqual(Fetch(ops::Neg(Gpu(), y)), AsTensor<float>({-2}, {1, 1}));
}

TEST_F(GpuSessionTest, ADeviceThatBreaksFailsTheStepAndNamesNodeAndDevice) {
  const Output x = ops::Placeholder(Gpu(1), DT_FLOAT);
  const Output y = ops::Neg(Gpu(1).WithName("broken"), x);
  const FeedList feeds = {{x, AsTensor<float>({1, 2})}};
  Run(feeds, {y});
  gpus_[1]->FailNextOperation(GpuError::kIllegalAddress);
  for (int step = 0; step < 2; ++step) {  // for good
    EXPECT_THAT(session().Run(feeds, {y}).status(),
                StatusIs(absl::StatusCode::kInternal,
                         AllOf(HasSubstr("illegal memory access"), HasSubstr("{{node "), HasSubstr("device:GPU:1"))));
  }
}

TEST_F(GpuSessionTest, AStepThatFetchesNothingWaitsForItsWork) {
  const ResourceVariable v =
      ResourceVariable::Make(Gpu().WithName("v"), TensorShape(), DT_FLOAT, initializers::Value(AsScalar<float>(1)));
  const Operation add = v.AssignAdd(Gpu().WithName("add"), 1.0f);
  Run({}, {}, {add});
  gpus_[0]->FailNextOperation(GpuError::kIllegalAddress);
  EXPECT_THAT(session().Run({}, {}, {add}).status(),
              StatusIs(absl::StatusCode::kInternal,
                       AllOf(HasSubstr("in AddV2; work on "), HasSubstr("device:GPU:0"), HasSubstr("{{node add"))));
}

TEST_F(GpuSessionTest, TensorsOfAGpuGoToOtherTasks) {
  ClusterSpec cluster;
  std::vector<std::unique_ptr<ReservedPort>> ports;
  std::vector<std::unique_ptr<Server>> servers;
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK_AND_ASSIGN(ports.emplace_back(), ReservedPort::Create());
    ASSERT_THAT(cluster.AddTask("worker", i, ports[i]->address()), IsOk());
  }
  tensorflow::ConfigProto config;
  config.mutable_gpu_options()->set_allow_growth(true);
  for (int i = 0; i < 2; ++i) {
    gpus_.push_back(std::make_shared<SimulatedGpu>(SimulatedGpu::Options()));
    ASSERT_OK_AND_ASSIGN(servers.emplace_back(),
                         Server::Start({.cluster = cluster,
                                        .job = "worker",
                                        .index = i,
                                        .config = config,
                                        .gpus = std::make_shared<GpuPlatform>(SimulatedPlatform({gpus_.back()}))}));
  }
  const auto gpu = [this](int task) {
    return scope_.WithDevice(absl::StrCat("/job:worker/task:", task, "/device:GPU:0"));
  };
  const Output x = ops::Placeholder(gpu(0), DT_FLOAT);
  const Output there = ops::Square(gpu(1), ops::Neg(gpu(0), x)), back = ops::AddV2(gpu(0), there, x);
  // What stock clients send where they have no GPU themselves; it is about local sessions' devices.
  SessionOptions options;
  (*options.config->mutable_device_count())["GPU"] = 0;
  ASSERT_OK_AND_ASSIGN(const auto session, Session::Connect("grpc://" + servers[0]->address(), scope_, options));
  for (const int size : {2, 100'000}) {
    const Tensor ones = AsTensor<float>(std::vector<float>(size, 3));
    ASSERT_OK_AND_ASSIGN(const auto out, session->Run({{x, ones}}, {there, back}));
    ExpectTensorEqual(out[0], AsTensor<float>(std::vector<float>(size, 9)));
    ExpectTensorEqual(out[1], AsTensor<float>(std::vector<float>(size, 12)));
  }
}

TEST_F(GpuSessionTest, AFunctionThatIsCalledRunsThere) {
  TensorSpecs arguments{.types = {DT_FLOAT}, .shapes = {PartialTensorShape()}};
  ASSERT_OK_AND_ASSIGN(const BuiltFunction function,
                       BuildFunction(scope_, "half", arguments, [](const Scope& s, const OutputList& v) {
                         return OutputList{ops::Mul(s, v[0], 0.5f)};
                       }));
  const Output x = ops::Placeholder(Gpu(), DT_FLOAT);
  const OutputList y = ops::PartitionedCall(Gpu(), InputList{x}, {DT_FLOAT}, function.function);
  ExpectTensorEqual(Run({{x, AsTensor<float>({1, 2})}}, {y[0]})[0], AsTensor<float>({0.5f, 1}));
}

TEST_F(GpuSessionTest, ADependencyThatIsDroppedIsFound) {
  expects_races_ = true;
  wrap_ = [](std::shared_ptr<SimulatedGpu> gpu) { return std::make_shared<ForgetfulRuntime>(std::move(gpu)); };
  const Output x = ops::Placeholder(Gpu(), DT_FLOAT);
  ASSERT_THAT(session().Run({{x, AsTensor<float>({1, 2})}}, {ops::Neg(Gpu(), x)}).status(), IsOk());
  EXPECT_THAT(gpus_[0]->Races(), Not(IsEmpty()));
}

}  // namespace
}  // namespace weir
