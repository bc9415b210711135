#include "master/step_tracer.h"

#include <thread>

#include "core/testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kTask[] = "/job:worker/replica:0/task:0";

class StepTracerTest : public testing::Test {
 protected:
  TraceStepsResponse Call(uint64_t tracer, int steps, int64_t received = 0) {
    TraceStepsRequest request;
    request.set_tracer(tracer);
    request.set_steps(steps);
    request.set_received(received);
    TraceStepsResponse response;
    EXPECT_THAT(tracer_->Serve(request, &response), IsOk());
    return response;
  }
  // Runs a step with one node; true if it was recorded.
  bool Run(int64_t step_id, const absl::Status& status = absl::OkStatus()) {
    if (!tracer_->is_on()) return false;
    const auto recording = tracer_->Begin(step_id, "session", false);
    if (recording == nullptr) return false;
    tensorflow::StepStats stats;
    stats.add_dev_stats()->add_node_stats()->set_node_name("node");
    recording->PartEnded(kTask, MonotonicNow(), status, std::move(stats));
    tracer_->End(*recording, status);
    return true;
  }
  static std::vector<int64_t> Ids(const TraceStepsResponse& response) {
    std::vector<int64_t> ids;
    for (const TracedStep& step : response.step()) ids.push_back(step.step_id());
    return ids;
  }

  TimerQueue timers_;
  std::unique_ptr<StepTracer> tracer_ = std::make_unique<StepTracer>(kTask, &timers_);
};

TEST_F(StepTracerTest, RecordsTheNextStepsAndNoMore) {
  EXPECT_FALSE(tracer_->is_on());
  EXPECT_FALSE(Run(1));
  EXPECT_THAT(Ids(Call(7, 2)), IsEmpty());
  EXPECT_TRUE(Run(2));
  EXPECT_TRUE(Run(3));
  EXPECT_FALSE(tracer_->is_on());
  EXPECT_FALSE(Run(4));
  const TraceStepsResponse response = Call(7, 2);
  EXPECT_THAT(Ids(response), ElementsAre(2, 3));
  const TracedStep& step = response.step(0);
  EXPECT_EQ(step.master(), kTask);
  EXPECT_EQ(step.session(), "session");
  EXPECT_EQ(step.part(0).task(), kTask);
  EXPECT_LE(step.start_nanos(), step.part(0).start_nanos());
  EXPECT_LE(step.part(0).end_nanos(), step.end_nanos());
  EXPECT_EQ(step.stats().dev_stats(0).node_stats(0).node_name(), "node");
  EXPECT_GE(response.clock_nanos(), step.end_nanos());
}

TEST_F(StepTracerTest, KeepsStepsUntilTheClientHasThem) {
  Call(7, 3);
  Run(1);
  Run(2);
  EXPECT_THAT(Ids(Call(7, 3)), ElementsAre(1, 2));
  EXPECT_THAT(Ids(Call(7, 3)), ElementsAre(1, 2));  // the first response was lost
  EXPECT_THAT(Ids(Call(7, 3, 1)), ElementsAre(2));
  Run(3);
  EXPECT_THAT(Ids(Call(7, 3, 2)), ElementsAre(3));
  EXPECT_THAT(Ids(Call(7, 3, 1000)), IsEmpty());
}

TEST_F(StepTracerTest, SeveralTracersGetTheStepsThatBeginAfterTheirFirstCall) {
  Call(1, 2);
  Run(1);
  Call(2, 2);
  Run(2);
  Run(3);
  EXPECT_THAT(Ids(Call(1, 2)), ElementsAre(1, 2));
  EXPECT_THAT(Ids(Call(2, 2)), ElementsAre(2, 3));
}

TEST_F(StepTracerTest, AFailedStepHasItsError) {
  Call(1, 1);
  Run(1, errors::Unavailable("a task is gone"));
  const TraceStepsResponse response = Call(1, 1);
  EXPECT_EQ(response.step(0).code(), static_cast<int>(absl::StatusCode::kUnavailable));
  EXPECT_EQ(response.step(0).error(), "a task is gone");
}

TEST_F(StepTracerTest, StepsThatRunAreCounted) {
  Call(1, 2);
  const auto recording = tracer_->Begin(5, "s", false);
  EXPECT_EQ(Call(1, 2).running(), 1);
  tracer_->End(*recording, absl::OkStatus());
  EXPECT_EQ(Call(1, 2).running(), 0);
}

TEST_F(StepTracerTest, ATracerThatIsEndedGetsNothingMore) {
  Call(1, 2);
  const auto recording = tracer_->Begin(5, "s", false);
  TraceStepsRequest end;
  end.set_tracer(1);
  end.set_end(true);
  TraceStepsResponse response;
  EXPECT_THAT(tracer_->Serve(end, &response), IsOk());
  EXPECT_FALSE(tracer_->is_on());
  tracer_->End(*recording, absl::OkStatus());
  EXPECT_EQ(tracer_->num_tracers(), 0);
  EXPECT_THAT(tracer_->Serve(end, &response), IsOk());
}

TEST_F(StepTracerTest, StepsBeyondTheLimitOfMemoryAreDroppedAndCounted) {
  tracer_ = std::make_unique<StepTracer>(kTask, &timers_, StepTracer::Limits{.bytes = 400, .response = 1});
  Call(1, 100);
  for (int i = 0; i < 100; ++i) Run(i);
  TraceStepsResponse response = Call(1, 100);
  EXPECT_THAT(Ids(response), ElementsAre(0));  // one a response
  EXPECT_GT(response.dropped(), 80);
  EXPECT_THAT(Ids(Call(1, 100, 1)), ElementsAre(1));
}

TEST_F(StepTracerTest, TooManyTracersAndWrongNumbersAreRejected) {
  tracer_ = std::make_unique<StepTracer>(kTask, &timers_, StepTracer::Limits{.tracers = 1, .steps = 5});
  TraceStepsRequest request;
  TraceStepsResponse response;
  request.set_tracer(1);
  for (const int steps : {0, -1, 6}) {
    request.set_steps(steps);
    EXPECT_THAT(tracer_->Serve(request, &response),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("from 1 to 5 steps")));
  }
  Call(1, 1);
  request.set_tracer(2);
  request.set_steps(1);
  EXPECT_THAT(tracer_->Serve(request, &response),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("already has 1 tracers")));
}

TEST_F(StepTracerTest, ATracerEndsWithoutItsClient) {
  tracer_ = std::make_unique<StepTracer>(kTask, &timers_, StepTracer::Limits{.lease = absl::Milliseconds(1)});
  Call(1, 1);
  while (tracer_->num_tracers() > 0) std::this_thread::yield();  // its lease ends it
  EXPECT_FALSE(tracer_->is_on());
}

TEST_F(StepTracerTest, StepsBeginAndEndInManyThreads) {
  Call(1, 1000);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 250; ++i) Run(t * 1000 + i);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Call(1, 1000).step_size(), 1000);
}

}  // namespace
}  // namespace weir
