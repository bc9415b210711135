#include "tools/trace/trace_collector.h"

#include <map>

#include "core/testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kA[] = "/job:worker/replica:0/task:0", kB[] = "/job:worker/replica:0/task:1";

// Two masters, and a clock that moves with sleeps and calls.
class FakeCluster : public TraceSource {
 public:
  absl::StatusOr<ListTasksResponse> ListTasks(absl::Time) override {
    RETURN_IF_ERROR(list_error);
    ListTasksResponse response;
    response.set_task(kA);
    response.add_tasks(kA);
    response.add_tasks(kB);
    return response;
  }

  absl::StatusOr<TraceStepsResponse> TraceSteps(const TraceStepsRequest& request, absl::Time) override {
    now += absl::Milliseconds(1);
    const std::string task = request.task().empty() ? kA : request.task();
    ++calls[task];
    if (request.end()) {
      ended.push_back(task);
      return TraceStepsResponse();
    }
    if (const auto it = errors.find(task); it != errors.end() && calls[task] >= it->second.first) {
      return it->second.second;
    }
    TraceStepsResponse response;
    std::vector<TracedStep>& all = steps[task];
    for (size_t i = request.received(); i < all.size() && absl::ToUnixNanos(now) >= all[i].end_nanos(); ++i) {
      *response.add_step() = all[i];
    }
    response.set_clock_nanos(absl::ToUnixNanos(now));
    if (task == kB) {
      response.set_called_nanos(absl::ToUnixNanos(now) - 1000);
      response.set_answered_nanos(absl::ToUnixNanos(now) + 1000);
    }
    return response;
  }

  void AddStep(const std::string& task, int64_t id, absl::Duration end, int code = 0) {
    TracedStep& step = steps[task].emplace_back();
    step.set_step_id(id);
    step.set_master(task);
    step.set_end_nanos(absl::ToUnixNanos(kStart + end));
    step.set_code(code);
    if (code != 0) step.set_error("broken");
  }
  absl::StatusOr<CollectedTrace> Collect(int count, absl::Duration timeout = absl::Seconds(20)) {
    CollectOptions options{.steps = count, .timeout = timeout, .tracer = 5};
    options.now = [this] { return now; };
    options.is_interrupted = [this] { return now >= interrupted_at; };
    options.sleep = [this](absl::Duration time) { now += time; };
    return CollectTrace(*this, options);
  }
  static std::vector<int64_t> Ids(const CollectedTrace& trace) {
    std::vector<int64_t> ids;
    for (const TracedStep& step : trace.steps) ids.push_back(step.step_id());
    return ids;
  }

  const absl::Time kStart = absl::FromUnixSeconds(1000);
  absl::Time now = kStart;
  absl::Time interrupted_at = absl::InfiniteFuture();
  absl::Status list_error;
  std::map<std::string, std::vector<TracedStep>> steps;
  std::map<std::string, int> calls;
  std::map<std::string, std::pair<int, absl::Status>> errors;  // from that call on
  std::vector<std::string> ended;
};

TEST(TraceCollectorTest, CollectsTheFirstStepsOfAllMasters) {
  FakeCluster cluster;
  cluster.AddStep(kA, 1, absl::Seconds(1));
  cluster.AddStep(kA, 3, absl::Seconds(3));
  cluster.AddStep(kB, 2, absl::Seconds(2));
  cluster.AddStep(kB, 4, absl::Seconds(3));
  ASSERT_OK_AND_ASSIGN(const CollectedTrace trace, cluster.Collect(3));
  EXPECT_THAT(FakeCluster::Ids(trace), ElementsAre(1, 2, 3));
  EXPECT_TRUE(trace.is_complete());
  EXPECT_THAT(trace.notes, IsEmpty());
  EXPECT_THAT(trace.tasks, ElementsAre(kA, kB));
  EXPECT_EQ(trace.clocks.OffsetOf(kB).error_nanos, 1000);
  EXPECT_THAT(cluster.ended, ElementsAre(kA, kB));
}

TEST(TraceCollectorTest, AtTheTimeoutItReturnsWhatThereIs) {
  FakeCluster cluster;
  cluster.AddStep(kA, 1, absl::Seconds(1));
  ASSERT_OK_AND_ASSIGN(const CollectedTrace trace, cluster.Collect(5));
  EXPECT_THAT(FakeCluster::Ids(trace), ElementsAre(1));
  EXPECT_THAT(trace.notes, ElementsAre("1 of 5 steps have ended before the timeout."));
  EXPECT_GE(cluster.now - cluster.kStart, absl::Seconds(20));
  EXPECT_LT(cluster.now - cluster.kStart, absl::Seconds(22));
}

TEST(TraceCollectorTest, AnInterruptedTraceHasTheStepsSoFar) {
  FakeCluster cluster;
  cluster.AddStep(kA, 1, absl::Seconds(1));
  cluster.interrupted_at = cluster.kStart + absl::Seconds(2);
  ASSERT_OK_AND_ASSIGN(const CollectedTrace trace, cluster.Collect(5));
  EXPECT_THAT(FakeCluster::Ids(trace), ElementsAre(1));
  EXPECT_THAT(trace.notes, ElementsAre("1 of 5 steps have ended before the interruption."));
  EXPECT_THAT(cluster.ended, ElementsAre(kA, kB));
  EXPECT_LT(cluster.now - cluster.kStart, absl::Seconds(3));
}

TEST(TraceCollectorTest, AnInterruptedCallIsNoError) {
  FakeCluster cluster;
  cluster.interrupted_at = cluster.kStart + absl::Microseconds(1);
  cluster.errors[kA] = {1, errors::Cancelled("Interrupted")};
  ASSERT_OK_AND_ASSIGN(const CollectedTrace trace, cluster.Collect(5));
  EXPECT_THAT(trace.notes, ElementsAre("0 of 5 steps have ended before the interruption."));
}

TEST(TraceCollectorTest, ATaskThatDiesIsNoted) {
  FakeCluster cluster;
  cluster.AddStep(kB, 1, absl::Milliseconds(1));
  cluster.AddStep(kA, 2, absl::Seconds(2), /*code=*/14);
  cluster.errors[kB] = {3, errors::Unavailable("connection refused")};
  ASSERT_OK_AND_ASSIGN(const CollectedTrace trace, cluster.Collect(2));
  EXPECT_THAT(FakeCluster::Ids(trace), ElementsAre(1, 2));
  EXPECT_THAT(
      trace.notes,
      ElementsAre(HasSubstr("task:1 stopped answering, so that steps of its master may be missing: connection"),
                  HasSubstr("1 of the steps failed, so that parts of them are missing. The first error: broken.")));
  EXPECT_THAT(cluster.ended, ElementsAre(kA));
  EXPECT_LT(cluster.calls[kB], 8);  // it is asked once a second
}

TEST(TraceCollectorTest, TheLossOfTheTaskThatIsAskedEndsTheTrace) {
  FakeCluster cluster;
  cluster.AddStep(kA, 1, absl::Milliseconds(1));
  cluster.errors[kA] = {20, errors::Unavailable("gone")};
  cluster.errors[kB] = {20, errors::Unavailable("gone")};
  ASSERT_OK_AND_ASSIGN(const CollectedTrace trace, cluster.Collect(5, absl::Minutes(10)));
  EXPECT_THAT(FakeCluster::Ids(trace), ElementsAre(1));
  EXPECT_THAT(trace.notes[0], HasSubstr("1 of 5 steps have ended before the task that was asked was lost."));
  EXPECT_LT(cluster.now - cluster.kStart, absl::Seconds(20));
}

TEST(TraceCollectorTest, ErrorsAtTheStartAreReturned) {
  FakeCluster cluster;
  cluster.list_error = absl::UnimplementedError("no such method");
  EXPECT_THAT(cluster.Collect(1), StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("not a Weir server")));
  cluster.list_error = absl::OkStatus();
  cluster.errors[kA] = {1, errors::ResourceExhausted("8 tracers")};
  EXPECT_THAT(cluster.Collect(1), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("8 tracers")));
}

TEST(TraceCollectorTest, ATaskOfAnotherRuntimeIsNoted) {
  FakeCluster cluster;
  cluster.AddStep(kA, 1, absl::Seconds(1));
  cluster.errors[kB] = {1, absl::UnimplementedError("no such method")};
  ASSERT_OK_AND_ASSIGN(const CollectedTrace trace, cluster.Collect(1));
  EXPECT_THAT(trace.notes, ElementsAre(HasSubstr("task:1 records no steps: it is not a Weir server")));
}

}  // namespace
}  // namespace weir
