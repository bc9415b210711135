// Endless loops in many sessions, on one processor and on two, hold up neither other steps nor the end of their own.
#include <sched.h>

#include <future>
#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/clock.h"
#include "core/testing.h"
#include "distribute/cluster/process_cluster.h"
#include "tests/cluster/test_session.h"

namespace weir {
namespace {

constexpr int kLoops = 6;  // of each kind
constexpr absl::Duration kLimit = absl::Seconds(30);

// DEVICE runs all but a session's master. "exit" never leaves its loop; "gated_exit" is the same behind a dequeue,
// after which a compute thread continues the step. "tell" and "gated_tell" show that a loop's step runs.
constexpr char kGraph[] = R"(
  versions { producer: 1882 }
  node { name: "true" op: "Const" device: "DEVICE" attr { key: "dtype" value { type: DT_BOOL } }
         attr { key: "value" value { tensor { dtype: DT_BOOL tensor_shape {} bool_val: true } } } }
  node { name: "zero" op: "Const" device: "DEVICE" attr { key: "dtype" value { type: DT_FLOAT } }
         attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 0 } } } }
  node { name: "gate" op: "FIFOQueueV2" device: "DEVICE"
         attr { key: "component_types" value { list { type: DT_FLOAT } } }
         attr { key: "shared_name" value { s: "gate" } } }
  node { name: "running" op: "FIFOQueueV2" device: "DEVICE"
         attr { key: "component_types" value { list { type: DT_FLOAT } } }
         attr { key: "shared_name" value { s: "running" } } }
  node { name: "answers" op: "FIFOQueueV2" device: "DEVICE"
         attr { key: "component_types" value { list { type: DT_FLOAT } } }
         attr { key: "shared_name" value { s: "answers" } } }
  node { name: "open_gate" op: "QueueEnqueueV2" input: "gate" input: "zero" device: "DEVICE"
         attr { key: "Tcomponents" value { list { type: DT_FLOAT } } } }
  node { name: "pass_gate" op: "QueueDequeueV2" input: "gate" device: "DEVICE"
         attr { key: "component_types" value { list { type: DT_FLOAT } } } }
  node { name: "tell" op: "QueueEnqueueV2" input: "running" input: "zero" device: "DEVICE"
         attr { key: "Tcomponents" value { list { type: DT_FLOAT } } } }
  node { name: "gated_tell" op: "QueueEnqueueV2" input: "running" input: "pass_gate" device: "DEVICE"
         attr { key: "Tcomponents" value { list { type: DT_FLOAT } } } }
  node { name: "told" op: "QueueDequeueV2" input: "running" device: "DEVICE"
         attr { key: "component_types" value { list { type: DT_FLOAT } } } }
  node { name: "answer" op: "QueueEnqueueV2" input: "answers" input: "zero" device: "DEVICE"
         attr { key: "Tcomponents" value { list { type: DT_FLOAT } } } }
  node { name: "ask" op: "QueueDequeueV2" input: "answers" device: "DEVICE"
         attr { key: "component_types" value { list { type: DT_FLOAT } } } })";
constexpr char kLoop[] = R"(
  node { name: "NAMEpredicate" op: "Enter" input: "true" device: "DEVICE" attr { key: "T" value { type: DT_BOOL } }
         attr { key: "frame_name" value { s: "NAMEloop" } } attr { key: "is_constant" value { b: true } } }
  node { name: "NAMEenter" op: "Enter" input: "START" device: "DEVICE" attr { key: "T" value { type: DT_FLOAT } }
         attr { key: "frame_name" value { s: "NAMEloop" } } }
  node { name: "NAMEmerge" op: "Merge" input: "NAMEenter" input: "NAMEnext" device: "DEVICE"
         attr { key: "T" value { type: DT_FLOAT } } attr { key: "N" value { i: 2 } } }
  node { name: "NAMEcondition" op: "LoopCond" input: "NAMEpredicate" device: "DEVICE" }
  node { name: "NAMEswitch" op: "Switch" input: "NAMEmerge" input: "NAMEcondition" device: "DEVICE"
         attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "NAMEnegative" op: "Neg" input: "NAMEswitch:1" device: "DEVICE"
         attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "NAMEnext" op: "NextIteration" input: "NAMEnegative" device: "DEVICE"
         attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "NAMEexit" op: "Exit" input: "NAMEswitch" device: "DEVICE" attr { key: "T" value { type: DT_FLOAT } } })";

// While it lives, the calling thread and the processes that it starts run on `count` processors.
class FewProcessors {
 public:
  explicit FewProcessors(int count) {
    sched_getaffinity(0, sizeof(before_), &before_);
    cpu_set_t few;
    CPU_ZERO(&few);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&few) < count; ++cpu) {
      if (CPU_ISSET(cpu, &before_)) CPU_SET(cpu, &few);
    }
    has_them_ = CPU_COUNT(&few) == count && sched_setaffinity(0, sizeof(few), &few) == 0;
  }
  ~FewProcessors() { sched_setaffinity(0, sizeof(before_), &before_); }
  FewProcessors(const FewProcessors&) = delete;
  bool has_them() const { return has_them_; }

 private:
  cpu_set_t before_;
  bool has_them_ = false;
};

// The number of the servers' processors, and the task that runs the steps of task 0's master.
class StarvationTest : public testing::TestWithParam<std::tuple<int, int>> {
 protected:
  void SetUp() override {
    const FewProcessors few(std::get<0>(GetParam()));
    if (!few.has_them()) GTEST_SKIP() << "there are not that many processors";
    ASSERT_OK_AND_ASSIGN(cluster_, ProcessCluster::Start({.program = WEIR_PROGRAM, .jobs = {{"worker", 2}}}));
  }

  TestSession Open() {
    const std::string device = absl::StrCat("/job:worker/task:", std::get<1>(GetParam()));
    std::string graph = kGraph;
    for (const auto& [name, start] : {std::pair("", "zero"), std::pair("gated_", "pass_gate")}) {
      graph += absl::StrReplaceAll(kLoop, {{"NAME", name}, {"START", start}});
    }
    return TestSession::Open(*cluster_->spec().AddressOf("worker", 0),
                             absl::StrReplaceAll(graph, {{"DEVICE", device}}));
  }
  // Runs `call`, and expects that it ends well and in time.
  template <typename Call>
  static void ExpectSoon(const std::string& what, Call call) {
    const absl::Time start = MonotonicNow();
    EXPECT_THAT(call(), IsOk()) << what;
    const absl::Duration taken = MonotonicNow() - start;
    EXPECT_LT(taken, kLimit) << what;
    longest_ = std::max(longest_, taken);
  }

  static inline absl::Duration longest_;
  std::unique_ptr<ProcessCluster> cluster_;
};

TEST_P(StarvationTest, EndlessLoopsDelayNoOtherStep) {
  longest_ = absl::ZeroDuration();
  const TestSession asking = Open(), answering = Open();
  std::vector<TestSession> looping;
  for (int i = 0; i < 2 * kLoops; ++i) looping.push_back(Open());
  for (const TestSession* session : {&asking, &answering}) {  // builds their graphs
    EXPECT_THAT(session->Run({"answer"}), IsOk());
    EXPECT_THAT(session->Run({"ask"}), IsOk());
  }
  std::vector<std::future<absl::Status>> steps;
  for (int i = 0; i < kLoops; ++i) {
    steps.push_back(looping[i].Start({"gated_exit", "gated_tell"}));
    steps.push_back(looping[kLoops + i].Start({"exit", "tell"}));
    ExpectSoon("A loop begins", [&] { return asking.Run({"told"}); });
  }
  for (int i = 0; i < kLoops; ++i) {
    ExpectSoon("A gate opens", [&] { return answering.Run({"open_gate"}); });
    ExpectSoon("A loop behind a gate begins", [&] { return asking.Run({"told"}); });
  }
  for (int i = 0; i < 10; ++i) {
    ExpectSoon("A dequeue is answered", [&] {
      auto asked = asking.Start({"ask"});
      const absl::Status answered = answering.Run({"answer"});
      return answered.ok() ? asked.get() : answered;
    });
  }
  for (const TestSession& session : looping) {
    ExpectSoon("A session of a loop closes", [&] { return session.Close(); });
  }
  const absl::Time closed = MonotonicNow();
  for (auto& step : steps) EXPECT_THAT(step.get(), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_LT(MonotonicNow() - closed, kLimit);
  RecordProperty("longest", absl::FormatDuration(longest_));
}

INSTANTIATE_TEST_SUITE_P(All, StarvationTest, testing::Combine(testing::Values(1, 2), testing::Values(0, 1)),
                         [](const auto& info) {
                           return absl::StrCat(std::get<0>(info.param) == 1 ? "OneProcessor" : "TwoProcessors",
                                               std::get<1>(info.param) == 0 ? "OwnTask" : "OtherTask");
                         });

}  // namespace
}  // namespace weir
