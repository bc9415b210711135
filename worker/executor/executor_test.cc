#include "worker/executor/executor.h"

#include <condition_variable>
#include <limits>
#include <mutex>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/executor/executor_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

int64_t Value(const absl::StatusOr<std::vector<Tensor>>& results, int i = 0) {
  EXPECT_TRUE(results.ok()) << results.status();
  return results.ok() ? (*results)[i].scalar<int64_t>() : -1;
}

TEST(ExecutorTest, ComputesWithArgumentsAndConstants) {
  TestGraph g;
  Out x = g.Arg(0);
  Out y = g.I64("Mul", {g.I64("AddV2", {x, g.Int(1)}), x});
  g.Ret(0, y);
  g.Ret(1, x);
  g.Ret(2, g.Int(7));
  ExecutorHarness h;
  auto results = h.Run(g.Take(), {Tensor::Scalar<int64_t>(5)});
  EXPECT_EQ(Value(results, 0), 30);
  EXPECT_EQ(Value(results, 1), 5);
  EXPECT_EQ(Value(results, 2), 7);
}

TEST(ExecutorTest, StepsDoNotDisturbConstantsOrEachOther) {
  TestGraph g;
  Out sum = g.Int(1);
  for (int i = 0; i < 20; ++i) sum = g.I64("AddV2", {sum, sum});
  g.Ret(0, sum);
  ExecutorHarness h;
  auto executor = h.Compile(g.Take());
  ASSERT_TRUE(executor.ok()) << executor.status();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Value(h.RunStep(**executor)), 1 << 20);
}

TEST(ExecutorTest, EmptyGraph) {
  TestGraph g;
  ExecutorHarness h;
  EXPECT_TRUE(h.Run(g.Take()).ok());
}

TEST(ExecutorTest, ControlEdgesOrderNodes) {
  TestGraph g;
  Out fails = g.Add("TestFail");
  g.Ret(0, g.Int(3, {fails.node}));
  ExecutorHarness h;
  auto results = h.Run(g.Take());
  EXPECT_EQ(results.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(results.status().message()), HasSubstr("no luck\n\t [[{{node TestFail}}]]"));
  EXPECT_EQ(OriginOf(results.status())->node, "TestFail");
  EXPECT_EQ(OriginOf(results.status())->task, "/job:worker/replica:0/task:0");
}

TEST(ExecutorTest, AKernelThatFindsNoMemoryFailsTheStep) {
  for (const char* op : {"TestOutOfMemory", "TestAsyncOutOfMemory"}) {
    TestGraph g;
    g.Ret(0, g.Int(3, {g.Add(op).node}));
    ExecutorHarness h;
    EXPECT_EQ(h.Run(g.Take()).status().code(), absl::StatusCode::kResourceExhausted) << op;
  }
}

TEST(ExecutorTest, AFailedStepLeavesNothingBehind) {
  TestGraph g;
  Out x = g.Arg(0);
  Out placeholder = g.Add("Placeholder", {}, {TestGraph::A("dtype", DT_INT64)}, {}, "p");
  g.Ret(0, g.I64("AddV2", {g.I64("AddV2", {x, x}), placeholder}));
  ExecutorHarness h;
  auto executor = h.Compile(g.Take());
  for (int i = 0; i < 3; ++i) {
    auto results = h.RunStep(**executor, {Tensor::Scalar<int64_t>(5)});
    EXPECT_THAT(std::string(results.status().message()),
                HasSubstr("You must feed a value for placeholder tensor 'p' with dtype int64"));
  }
}

TEST(ExecutorTest, NamesTheKernelThatSetsNoOutput) {
  TestGraph g;
  g.Ret(0, g.Add("TestNothing"));
  ExecutorHarness h;
  auto results = h.Run(g.Take());
  EXPECT_EQ(results.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(results.status().message()), HasSubstr("Missing 0-th output from {{node TestNothing}}"));
}

TEST(ExecutorTest, MissingKernelIsRejectedWhenCompiled) {
  TestGraph g;
  g.Ret(0, g.I64("TestMissing", {}));
  ExecutorHarness h;
  auto executor = h.Compile(g.Take());
  EXPECT_EQ(executor.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(executor.status().message()), HasSubstr("TestMissing"));
}

TEST(ExecutorTest, WrongArgumentsAreRejected) {
  TestGraph g;
  g.Ret(0, g.Arg(0));
  ExecutorHarness h;
  auto executor = h.Compile(g.Take());
  EXPECT_EQ(h.RunStep(**executor).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(h.RunStep(**executor, {Tensor::Scalar<float>(1)}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ExecutorTest, UnconnectedInputIsRejected) {
  TestGraph g;
  g.Add("AddV2", {g.Int(1)}, {TestGraph::A("T", DT_INT64)});
  ExecutorHarness h;
  EXPECT_EQ(h.Run(g.Take()).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ExecutorTest, AsynchronousKernelsResumeTheCaller) {
  TestGraph g;
  Out sum = g.Arg(0);
  for (int i = 0; i < 20; ++i) {
    Out a = g.Add("TestWait", {sum});
    Out b = g.Add("TestWait", {sum});
    sum = g.I64("AddV2", {a, b});
  }
  g.Ret(0, sum);
  ExecutorHarness h;
  EXPECT_EQ(Value(h.Run(g.Take(), {Tensor::Scalar<int64_t>(1)})), 1 << 20);
}

TEST(ExecutorTest, RunAsyncFinishesOnOtherThreads) {
  TestGraph g;
  g.Ret(0, g.Add("TestWait", {g.Add("TestWait", {g.Int(4)})}));
  ExecutorHarness h;
  auto executor = h.Compile(g.Take());
  StepContext context;
  context.device = h.device();
  for (const bool on_caller : {false, true}) {
    std::mutex mu;
    std::condition_variable cv;
    bool done = false;
    std::vector<Tensor> results;
    (*executor)->RunAsync({.context = &context, .results = &results}, on_caller, [&](absl::Status status) {
      EXPECT_TRUE(status.ok()) << status;
      std::lock_guard<std::mutex> lock(mu);
      done = true;
      cv.notify_one();
    });
    std::unique_lock<std::mutex> lock(mu);
    cv.wait(lock, [&] { return done; });
    EXPECT_EQ(results[0].scalar<int64_t>(), 4);
  }
}

TEST(ExecutorTest, CostlyNodesRunOnSeveralThreads) {
  TestGraph g;
  Out x = g.Arg(0);
  for (int i = 0; i < 16; ++i) g.Ret(i, g.Add("TestBurn", {x}, {TestGraph::A("micros", int64_t{200})}));
  ExecutorHarness h;
  auto executor = h.Compile(g.Take());
  for (int step = 0; step < 10; ++step) {
    auto results = h.RunStep(**executor, {Tensor::Scalar<int64_t>(1)});
    for (int i = 0; i < 16; ++i) EXPECT_EQ(Value(results, i), 2);
  }
}

TEST(ExecutorTest, CancellationEndsAStepThatWaitsToReceive) {
  TestGraph g;
  auto attrs = std::vector<TestGraph::Attr>{
      TestGraph::A("tensor_type", DT_INT64), TestGraph::A("tensor_name", std::string("t")),
      TestGraph::A("send_device", std::string("/job:worker/replica:0/task:0/device:CPU:0")),
      TestGraph::A("recv_device", std::string("/job:worker/replica:0/task:0/device:CPU:0")),
      TestGraph::A("send_device_incarnation", int64_t{1})};
  g.Ret(0, g.Add("_Recv", {}, attrs, {}, "_recv"));
  ExecutorHarness h;
  auto executor = h.Compile(g.Take());
  ASSERT_TRUE(executor.ok()) << executor.status();
  CancellationManager cancellation;
  std::thread canceller([&] { cancellation.StartCancel(); });
  auto results = h.RunStep(**executor, {}, nullptr, &cancellation);
  canceller.join();
  EXPECT_EQ(results.status().code(), absl::StatusCode::kCancelled);
}

#if defined(__SSE2__)
TEST(ExecutorTest, KernelsFlushDenormals) {
  TestGraph g;
  Out x = g.Arg(0, DT_FLOAT);
  g.Ret(0, g.Add("AddV2", {x, x}, {TestGraph::A("T", DT_FLOAT)}), DT_FLOAT);
  ExecutorHarness h;
  auto results = h.Run(g.Take(), {Tensor::Scalar(std::numeric_limits<float>::min() / 4)});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ((*results)[0].scalar<float>(), 0);
}
#endif

TEST(ExecutorTest, ManyStepsAtOnce) {
  TestGraph g;
  Out x = g.Arg(0);
  Out y = g.I64("AddV2", {g.Add("TestWait", {x}), g.I64("Mul", {x, x})});
  g.Ret(0, y);
  ExecutorHarness h;
  auto executor = h.Compile(g.Take());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int64_t i = 0; i < 100; ++i)
        EXPECT_EQ(Value(h.RunStep(**executor, {Tensor::Scalar<int64_t>(i + t)})), (i + t) * (i + t + 1));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace weir
