#include "tools/trace/step_hints.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/trace/step_usage.h"
#include "tools/trace/synthetic_trace_testing.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = StepHint::Kind;

constexpr const char* kWorker = SyntheticTrace::kWorker;
constexpr const char* kWorker1 = SyntheticTrace::kWorker1;
constexpr const char* kPs = SyntheticTrace::kPs;
constexpr const char* kPs1 = SyntheticTrace::kPs1;

TEST(StepHintsTest, NothingStandsOutInAStepThatComputes) {
  SyntheticTrace trace;
  for (int step = 0; step < 3; ++step) {
    const int64_t at = step * 1000;
    trace.Step(at, at + 1000);
    trace.Node(kWorker, "input", "IteratorGetNext", at, at + 50);
    trace.Tensor(kPs, kWorker, "w", at + 20, at, at + 60, 1000);
    trace.Node(kWorker, "product", "MatMul", at + 60, at + 980);
  }
  EXPECT_THAT(HintsFor(trace.Build()), IsEmpty());
}

TEST(StepHintsTest, NoStepsGiveNoHints) { EXPECT_THAT(HintsFor(SyntheticTrace().Build()), IsEmpty()); }

TEST(StepHintsTest, AnIteratorThatIsAwaitedMakesAStepInputBound) {
  SyntheticTrace trace;
  for (int step = 0; step < 2; ++step) {
    const int64_t at = step * 1000;
    trace.Step(at, at + 1000);
    trace.Node(kWorker, "train/next", "IteratorGetNext", at, at + 600);
    trace.Node(kWorker, "product", "MatMul", at + 600, at + 1000);
  }
  const std::vector<StepHint> hints = HintsFor(trace.Build());
  ASSERT_THAT(hints, SizeIs(1));
  EXPECT_EQ(hints[0].kind, Kind::kInput);
  EXPECT_THAT(hints[0].text,
              AllOf(HasSubstr(kWorker), HasSubstr("60%"), HasSubstr("0.6 ms of 1.0 ms"), HasSubstr("'train/next'")));
}

TEST(StepHintsTest, AnIteratorThatRunsBesideKernelsDoesNot) {
  SyntheticTrace trace;
  trace.Step(0, 1000);
  trace.Node(kWorker, "next", "IteratorGetNext", 0, 900);
  trace.Node(kWorker, "product", "MatMul", 0, 950, 1);
  EXPECT_THAT(HintsFor(trace.Build()), IsEmpty());
}

TEST(StepHintsTest, TheParameterServerThatIsAwaitedIsNamed) {
  SyntheticTrace trace;
  trace.Step(0, 1000);
  trace.Tensor(kPs, kWorker, "a", 20, 0, 50, 1000);
  trace.Tensor(kPs1, kWorker, "b", 500, 0, 600, 2'000'000);
  trace.Node(kPs1, "slow", "GatherV2", 10, 499);
  trace.Node(kWorker, "product", "MatMul", 600, 1000);
  const std::vector<StepHint> hints = HintsFor(trace.Build());
  ASSERT_THAT(hints, SizeIs(1));
  EXPECT_EQ(hints[0].kind, Kind::kParameterServer);
  // The first 0.05 ms are task 0's as well, but task 1 ended the wait.
  EXPECT_THAT(hints[0].text, AllOf(HasSubstr(kPs1), HasSubstr("60%"), HasSubstr("0.6 ms of 1.0 ms"),
                                   HasSubstr("0.1 ms of that is the transfer"), HasSubstr("1.0 tensors, 2.0 MB")));
}

TEST(StepHintsTest, AParameterServerThatWaitsForAWorkerIsNoHint) {
  SyntheticTrace trace;
  trace.Step(0, 1000);
  trace.Node(kWorker, "product", "MatMul", 0, 900);
  trace.Tensor(kWorker, kPs, "gradient", 900, 0, 910, 100);
  trace.Node(kPs, "apply", "ApplyGradientDescent", 910, 990);
  EXPECT_THAT(HintsFor(trace.Build()), IsEmpty());
}

TEST(StepHintsTest, TheSlowWorkerIsNamed) {
  SyntheticTrace trace;
  trace.Step(0, 1000);
  trace.Node(kWorker, "product", "MatMul", 0, 300);
  trace.Node(kWorker1, "product", "MatMul", 0, 900);
  trace.Node(kWorker, "sum", "CollectiveReduce", 300, 950);
  trace.Node(kWorker1, "sum", "CollectiveReduce", 900, 950);
  const std::vector<StepHint> hints = HintsFor(trace.Build());
  ASSERT_THAT(hints, SizeIs(1));
  EXPECT_EQ(hints[0].kind, Kind::kSlowTask);
  EXPECT_THAT(hints[0].text,
              AllOf(HasSubstr(absl::StrCat("Slow task ", kWorker1)), HasSubstr("0.9 ms a step"), HasSubstr("0.3 ms")));
}

TEST(StepHintsTest, CopiesThatTakeLongerThanKernelsAreAHint) {
  SyntheticTrace trace;
  trace.Step(0, 1000);
  trace.Node(kWorker, "product", "MatMul", 0, 100);
  trace.Tensor(kWorker1, kWorker, "x", 100, 50, 900, 50'000'000);
  trace.Node(kWorker1, "make", "Fill", 0, 99);
  const std::vector<StepHint> hints = HintsFor(trace.Build());
  ASSERT_THAT(hints, SizeIs(1));
  EXPECT_EQ(hints[0].kind, Kind::kCopies);
  EXPECT_THAT(hints[0].text, AllOf(HasSubstr(kWorker), HasSubstr("80%"), HasSubstr("50.0 MB a step")));
}

TEST(StepHintsTest, ManySmallKernelsAreAHint) {
  SyntheticTrace trace;
  trace.Step(0, 4000);
  for (int i = 0; i < 1000; ++i) trace.Node(kWorker, absl::StrCat("n", i), "Add", i * 3, i * 3 + 2);
  trace.Node(kWorker, "product", "MatMul", 3000, 3500);
  const std::vector<StepHint> hints = HintsFor(trace.Build());
  ASSERT_THAT(hints, SizeIs(1));
  EXPECT_EQ(hints[0].kind, Kind::kSmallKernels);
  EXPECT_THAT(hints[0].text, AllOf(HasSubstr("1000 of 1001 kernels"), HasSubstr("2.0 ms of 2.5 ms")));
}

TEST(StepUsageTest, TimesAreThoseWithinTheStep) {
  SyntheticTrace trace;
  trace.Step(100, 200);
  trace.Node(kWorker, "product", "MatMul", 0, 150);
  trace.Node(kWorker, "product", "MatMul", 120, 160, 1);
  trace.Node(kWorker, "next", "IteratorGetNext", 150, 400);
  const auto usage = UsageOf(trace.Build());
  ASSERT_THAT(usage, SizeIs(1));
  EXPECT_EQ(usage.at(kWorker).computed, 60'000);
  EXPECT_EQ(usage.at(kWorker).span, 100'000);
  EXPECT_EQ(usage.at(kWorker).kernels, 2);
}

}  // namespace
}  // namespace weir
