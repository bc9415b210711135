#include "worker/executor/framed_execution.h"

#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/executor/executor_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

class FramedTest : public ::testing::Test {
 protected:
  Out Enter(Out x, const std::string& frame, bool is_constant = false, int64_t parallel = 10) {
    return g.Add("Enter", {x},
                 {TestGraph::A("T", x.node->output_type(x.index)), TestGraph::A("frame_name", frame),
                  TestGraph::A("is_constant", is_constant), TestGraph::A("parallel_iterations", parallel)});
  }
  Out Typed(const std::string& op, Out x) { return g.Add(op, {x}, {TestGraph::A("T", x.node->output_type(x.index))}); }
  Out Merge(Out a, Out b) {
    return g.Add("Merge", {a, b}, {TestGraph::A("T", a.node->output_type(a.index)), TestGraph::A("N", int64_t{2})});
  }
  // {false, true}
  std::pair<Out, Out> Switch(Out x, Out predicate) {
    Out s = g.Add("Switch", {x, predicate}, {TestGraph::A("T", x.node->output_type(x.index))});
    return {{s.node, 0}, {s.node, 1}};
  }
  // for (i = start; i < limit; i = body(i)); gives the Exit.
  template <typename Body>
  Out Loop(Out start, Out limit, const std::string& frame, Body body, int64_t parallel = 10) {
    Out constant_limit = Enter(limit, frame, true, parallel);
    Out enter = Enter(start, frame, false, parallel);
    Out merge = g.Add("Merge", {enter, {nullptr}}, {TestGraph::A("T", DT_INT64), TestGraph::A("N", int64_t{2})});
    Out condition = g.Add("LoopCond", {g.I64("Less", {merge, constant_limit})});
    auto [exit, next] = Switch(merge, condition);
    g.Connect(Typed("NextIteration", body(Typed("Identity", next))), merge.node, 1);
    return Typed("Exit", exit);
  }
  absl::StatusOr<int64_t> Run(std::vector<Tensor> args = {}) {
    auto results = h.Run(g.Take(), std::move(args));
    if (!results.ok()) return results.status();
    return (*results)[0].scalar<int64_t>();
  }

  TestGraph g;
  ExecutorHarness h;
};

TEST_F(FramedTest, WhileLoopCounts) {
  g.Ret(0, Loop(g.Arg(0), g.Int(1000), "loop", [&](Out i) { return g.I64("AddV2", {i, g.Int(1, {i.node})}); }));
  auto executor = h.Compile(g.Take());
  ASSERT_TRUE(executor.ok()) << executor.status();
  for (int64_t start : {0, 999, 1000, 5000}) {
    auto results = h.RunStep(**executor, {Tensor::Scalar<int64_t>(start)});
    ASSERT_TRUE(results.ok()) << results.status();
    EXPECT_EQ((*results)[0].scalar<int64_t>(), std::max<int64_t>(start, 1000));
  }
}

TEST_F(FramedTest, ParallelIterationsAreBounded) {
  for (int64_t parallel : {1, 2, 32}) {
    g = TestGraph();
    g.Ret(0, Loop(
                 g.Int(0), g.Int(100), "loop",
                 [&](Out i) {
                   return g.Add("TestWait", {g.I64("AddV2", {i, g.Int(1, {i.node})})});
                 },
                 parallel));
    EXPECT_EQ(*Run(), 100) << parallel;
  }
}

TEST_F(FramedTest, NestedLoops) {
  // for i in 0..20: x = i + (the inner loop counts from i to 30)
  g.Ret(0, Loop(g.Int(0), g.Int(1000), "outer", [&](Out i) {
          Out limit = g.I64("AddV2", {i, g.Int(7, {i.node})});
          return Loop(i, limit, "inner", [&](Out j) { return g.I64("AddV2", {j, g.Int(2, {j.node})}); });
        }));
  EXPECT_EQ(*Run(), 1000);
}

TEST_F(FramedTest, ConditionalTakesOneBranch) {
  Out predicate = g.Arg(0, DT_BOOL);
  auto [if_false, if_true] = Switch(g.Int(10), predicate);
  Out a = g.I64("AddV2", {if_true, g.Int(1)});
  Out b = g.I64("Mul", {if_false, g.Int(2)});
  Out merge = Merge(a, b);
  g.Ret(0, merge);
  g.Ret(1, {merge.node, 1}, DT_INT32);
  auto executor = h.Compile(g.Take());
  ASSERT_TRUE(executor.ok()) << executor.status();
  for (const bool taken : {false, true, false}) {
    auto results = h.RunStep(**executor, {Tensor::Scalar(taken)});
    ASSERT_TRUE(results.ok()) << results.status();
    EXPECT_EQ((*results)[0].scalar<int64_t>(), taken ? 11 : 20);
    EXPECT_EQ((*results)[1].scalar<int32_t>(), taken ? 0 : 1);
  }
}

TEST_F(FramedTest, DeadNodesDoNotRun) {
  auto [if_false, if_true] = Switch(g.Int(10), g.Arg(0, DT_BOOL));
  Out dead = Typed("Identity", if_true);
  Out fails = g.Add("TestFail", {}, {}, {dead.node});
  Out after = g.Int(1, {fails.node});
  g.Ret(0, Merge(after, if_false));
  EXPECT_EQ(*Run({Tensor::Scalar(false)}), 10);
}

TEST_F(FramedTest, ALoopInABranchThatIsNotTakenIsDead) {
  auto [if_false, if_true] = Switch(g.Int(1), g.Arg(0, DT_BOOL));
  Out looped = Loop(if_true, g.Int(50), "loop", [&](Out i) { return g.I64("AddV2", {i, i}); });
  g.Ret(0, Merge(looped, if_false));
  auto executor = h.Compile(g.Take());
  ASSERT_TRUE(executor.ok()) << executor.status();
  for (const bool taken : {false, true, false, true}) {
    auto results = h.RunStep(**executor, {Tensor::Scalar(taken)});
    ASSERT_TRUE(results.ok()) << results.status();
    EXPECT_EQ((*results)[0].scalar<int64_t>(), taken ? 64 : 1);
  }
}

TEST_F(FramedTest, FetchingADeadTensorIsInvalid) {
  auto [if_false, if_true] = Switch(g.Int(1), g.Const(Tensor::Scalar(false)));
  g.Ret(0, if_true);
  absl::Status status = Run().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("The tensor returned for Switch:1 was not valid"));
}

TEST_F(FramedTest, FetchingWhatNeverComesIsInvalid) {
  g.Ret(0, Typed("NextIteration", g.I64("AddV2", {g.Arg(0), g.Int(1)})));
  absl::Status status = Run({Tensor::Scalar<int64_t>(2)}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("was not valid. Retval[0] does not have value"));
}

TEST_F(FramedTest, ControlTriggerIsNeverDead) {
  auto [if_false, if_true] = Switch(g.Int(1), g.Const(Tensor::Scalar(false)));
  Out dead = Typed("Identity", if_true);
  Out trigger = g.Add("ControlTrigger", {}, {}, {dead.node});
  g.Ret(0, g.Int(5, {trigger.node}));
  EXPECT_EQ(*Run(), 5);
}

TEST_F(FramedTest, AnErrorInALoopEndsTheStepAndTheNextOneIsClean) {
  Out bad = g.Arg(0, DT_BOOL);
  Out result = Loop(g.Int(0), g.Int(10), "loop", [&](Out i) {
    auto [good, fails] = Switch(i, Enter(bad, "loop", true));
    Out burnt = g.Add("Placeholder", {}, {TestGraph::A("dtype", DT_INT64)}, {Typed("Identity", fails).node});
    return g.I64("AddV2", {Merge(good, burnt), g.Int(1, {i.node})});
  });
  g.Ret(0, result);
  auto executor = h.Compile(g.Take());
  ASSERT_TRUE(executor.ok()) << executor.status();
  for (const bool fails : {true, false, true, false}) {
    auto results = h.RunStep(**executor, {Tensor::Scalar(fails)});
    EXPECT_EQ(results.ok(), !fails) << results.status();
  }
}

TEST_F(FramedTest, CancellationEndsAnEndlessLoop) {
  g.Ret(0, Loop(g.Int(0), g.Int(1), "loop", [&](Out i) { return g.I64("Mul", {i, g.Int(1, {i.node})}); }));
  auto executor = h.Compile(g.Take());
  CancellationManager cancellation;
  std::thread canceller([&] { cancellation.StartCancel(); });
  auto results = h.RunStep(**executor, {}, nullptr, &cancellation);
  canceller.join();
  EXPECT_EQ(results.status().code(), absl::StatusCode::kCancelled);
}

TEST_F(FramedTest, CancellationEndsAnEndlessLoopWithoutKernels) {
  const Out predicate = Enter(g.Arg(0, DT_BOOL), "loop", true);
  const Out merge = g.Add("Merge", {Enter(g.Int(0), "loop"), {nullptr}},
                          {TestGraph::A("T", DT_INT64), TestGraph::A("N", int64_t{2})});
  const auto [exit, next] = Switch(merge, predicate);
  g.Connect(Typed("NextIteration", next), merge.node, 1);
  g.Ret(0, Typed("Exit", exit));
  auto executor = h.Compile(g.Take());
  ASSERT_TRUE(executor.ok()) << executor.status();
  CancellationManager cancellation;
  std::thread canceller([&] { cancellation.StartCancel(); });
  auto results = h.RunStep(**executor, {Tensor::Scalar(true)}, nullptr, &cancellation);
  canceller.join();
  EXPECT_EQ(results.status().code(), absl::StatusCode::kCancelled);
}

TEST_F(FramedTest, FramesMustMatch) {
  Out inside = Enter(g.Int(1), "loop");
  g.Ret(0, g.I64("AddV2", {inside, g.Arg(0)}));
  absl::Status status = Run({Tensor::Scalar<int64_t>(1)}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("has inputs from different frames"));
}

TEST_F(FramedTest, SwitchChecksItsPredicate) {
  auto [if_false, if_true] = Switch(g.Int(1), g.Arg(0, DT_BOOL));
  g.Ret(0, Merge(if_false, if_true));
  EXPECT_EQ(Run({Tensor(DT_BOOL, TensorShape({2}))}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace weir
