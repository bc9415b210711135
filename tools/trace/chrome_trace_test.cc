#include "tools/trace/chrome_trace.h"

#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/trace/lanes.h"
#include "tools/trace/synthetic_trace_testing.h"
#include "tools/trace/trace_format_testing.h"

namespace weir {
namespace {

using nlohmann::json;
using testing::ElementsAre;

json Written(const SyntheticTrace& synthetic, const CollectedTrace& trace) {
  return json::parse(ChromeTrace(trace, synthetic.Build()));
}

// The name of the thread of the event whose node has the name.
std::string ThreadOf(const json& trace, const std::string& node) {
  std::map<std::pair<int, int>, std::string> names;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == "M" && event["name"] == "thread_name") {
      names[{event["pid"].get<int>(), event["tid"].get<int>()}] = event["args"]["name"];
    }
  }
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == "X" && event["args"].value("node", "") == node)
      return names[{event["pid"].get<int>(), event["tid"].get<int>()}];
  }
  return "";
}

TEST(ChromeTraceTest, IsAValidTraceWithProcessesThreadsAndArrows) {
  SyntheticTrace synthetic;
  synthetic.Step(100, 1000);
  synthetic.Node(SyntheticTrace::kWorker, "input", "IteratorGetNext", 110, 300);
  synthetic.Node(SyntheticTrace::kWorker, "product", "MatMul", 300, 500);
  synthetic.Node(SyntheticTrace::kPs, "read", "ReadVariableOp", 120, 130);
  synthetic.Tensor(SyntheticTrace::kPs, SyntheticTrace::kWorker, "w", 140, 110, 200, 4096);
  synthetic.Tensor(SyntheticTrace::kWorker, SyntheticTrace::kPs, "g", 600, 100, 700);
  synthetic.Node(SyntheticTrace::kWorker, "sum", "CollectiveReduce", 500, 900);
  const json trace = Written(synthetic, synthetic.trace());
  CheckTraceFormat(trace);
  EXPECT_EQ(ThreadOf(trace, "product"), "CPU:0 thread");
  EXPECT_EQ(ThreadOf(trace, "input"), "CPU:0 waits");
  EXPECT_EQ(ThreadOf(trace, "w/_recv"), "CPU:0 from /job:ps/replica:0/task:0");
  EXPECT_EQ(ThreadOf(trace, "sum"), "CPU:0 collectives");
  const TraceCounts counts = CountEvents(trace);
  EXPECT_EQ(counts.slices, 9);
  EXPECT_EQ(counts.arrows, 2);
  EXPECT_THAT(counts.processes, ElementsAre(SyntheticTrace::kPs, SyntheticTrace::kPs1, SyntheticTrace::kWorker,
                                            SyntheticTrace::kWorker1));
}

TEST(ChromeTraceTest, TimesOfOtherTasksAreAligned) {
  SyntheticTrace synthetic;
  synthetic.Step(100, 1000);
  // The clock of the parameter server is 5 ms ahead.
  synthetic.trace().clocks.Add(SyntheticTrace::kPs, {.called = 0, .clock = 5'000'100, .answered = 200});
  synthetic.Node(SyntheticTrace::kPs, "read", "ReadVariableOp", 5200, 5210);
  const json trace = Written(synthetic, synthetic.trace());
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] != "X" || event["args"].value("node", "") != "read") continue;
    EXPECT_DOUBLE_EQ(event["ts"].get<double>(), 100);  // after the start of the step
    EXPECT_DOUBLE_EQ(event["dur"].get<double>(), 10);
  }
  const json& clocks = trace["otherData"]["clocks"];
  EXPECT_DOUBLE_EQ(clocks[SyntheticTrace::kPs]["offset_us"].get<double>(), 5000);
  EXPECT_DOUBLE_EQ(clocks[SyntheticTrace::kPs]["error_bound_us"].get<double>(), 0.1);
  EXPECT_EQ(clocks[SyntheticTrace::kPs1]["is_aligned"], false);
}

TEST(ChromeTraceTest, SlicesThatOverlapGetThreadsOfTheirOwn) {
  SyntheticTrace synthetic;
  synthetic.Step(0, 1000);
  for (int i = 0; i < 5; ++i) synthetic.Node(SyntheticTrace::kWorker, "wait", "QueueDequeue", i, 500 + 100 * i);
  for (int i = 0; i < 50; ++i) {
    synthetic.Node(SyntheticTrace::kWorker, "k", "Add", (i * 37) % 500, (i * 37) % 500 + i * 7 + 1, i % 3);
  }
  synthetic.Node(SyntheticTrace::kWorker, "loop", "While", 0, 900);
  CheckTraceFormat(Written(synthetic, synthetic.trace()));
}

TEST(ChromeTraceTest, SaysWhatIsMissingAndShowsFailedSteps) {
  SyntheticTrace synthetic;
  synthetic.Step(0, 10);
  TracedStep& step = synthetic.trace().steps.back();
  step.set_code(14);
  step.set_error("task \"x\" is \xFF gone");
  step.add_part()->set_task(SyntheticTrace::kPs);
  synthetic.trace().wanted = 3;
  synthetic.trace().notes = {"1 of 3 steps have ended before the timeout."};
  const json trace = Written(synthetic, synthetic.trace());
  CheckTraceFormat(trace);
  EXPECT_EQ(trace["otherData"]["is_complete"], false);
  EXPECT_EQ(trace["otherData"]["steps_wanted"], 3);
  EXPECT_EQ(trace["otherData"]["notes"][0], "1 of 3 steps have ended before the timeout.");
  EXPECT_NE(trace.dump().find("step 1 (failed)"), std::string::npos);
}

TEST(ChromeTraceTest, ATraceWithoutStepsIsValid) {
  SyntheticTrace synthetic;
  const json trace = Written(synthetic, synthetic.trace());
  CheckTraceFormat(trace);
  EXPECT_EQ(CountEvents(trace).slices, 0);
}

TEST(ChromeTraceTest, StatisticsWithoutSenseDoNoHarm) {
  SyntheticTrace synthetic;
  synthetic.Step(std::numeric_limits<int64_t>::max() / 1000, std::numeric_limits<int64_t>::min() / 1000);
  for (const int64_t start : {std::numeric_limits<int64_t>::min(), int64_t{-1}, std::numeric_limits<int64_t>::max()}) {
    for (const int64_t length : {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()}) {
      tensorflow::NodeExecStats* const node = synthetic.Node("no task", "n", "Op", 0, 0);
      node->set_all_start_nanos(start);
      node->set_all_end_rel_nanos(length);
      node->add_output()->mutable_tensor_description()->mutable_allocation_description()->set_requested_bytes(length);
    }
  }
  for (const char* label : {"", "x = ", "x = _Recv", "x = _Recv(", "x = _Recv)(", "x = _Send(a @)", "x = _Send(@"}) {
    synthetic.Node(SyntheticTrace::kWorker, "", "", 1, 2)->set_timeline_label(label);
  }
  CheckTraceFormat(Written(synthetic, synthetic.trace()));
}

TEST(ChromeTraceTest, IterationsOfALoopArePairedInOrder) {
  SyntheticTrace synthetic;
  synthetic.Step(0, 1000);
  for (int i = 0; i < 3; ++i) {
    synthetic.Tensor(SyntheticTrace::kPs, SyntheticTrace::kWorker, "x", 100 * i + 10, 100 * i, 100 * i + 50);
  }
  const Timeline timeline = synthetic.Build();
  ASSERT_EQ(timeline.transfers.size(), 3);
  for (const Transfer& transfer : timeline.transfers) {
    EXPECT_EQ(timeline.slices[transfer.receive].end - timeline.slices[transfer.send].end, 40'000);
  }
}

TEST(LaneAssignmentTest, NestsOnlyWithinOneOwner) {
  LaneAssignment lanes;
  EXPECT_EQ(lanes.Place(0, 100, 1), 0);
  EXPECT_EQ(lanes.Place(10, 20, 1), 0);
  EXPECT_EQ(lanes.Place(10, 20, 2), 1);
  EXPECT_EQ(lanes.Place(15, 25, 1), 2);  // ends after the one around it
  EXPECT_EQ(lanes.Place(30, 200, 1), 1);
  EXPECT_EQ(lanes.Place(100, 110, 0), 0);
  EXPECT_EQ(lanes.Place(102, 104, 0), 2);
}

}  // namespace
}  // namespace weir
