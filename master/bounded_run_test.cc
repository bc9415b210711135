#include "master/bounded_run.h"

#include <future>

#include "core/clock.h"
#include "core/testing.h"
#include "distribute/transport/fake_worker_testing.h"

namespace weir {
namespace {

using Result = absl::StatusOr<RunGraphResult>;

class BoundedRunTest : public testing::Test {
 protected:
  // Keeps the worker's answer back.
  BoundedRunTest() {
    worker_.run_graph = [this](const CallOptions& call, const RunGraphArgs&, auto done) {
      inner_ = call;
      answer_ = std::move(done);
    };
  }
  void Start(absl::Time deadline = absl::InfiniteFuture()) {
    RunGraphInTime(worker_, &timers_, {.deadline = deadline, .cancellation = &caller_},
                   std::make_shared<RunGraphArgs>(), [this](Result result) { result_.set_value(std::move(result)); });
  }
  absl::Status End() { return result_.get_future().get().status(); }

  TimerQueue timers_;
  FakeWorker worker_;
  CancellationManager caller_;
  CallOptions inner_;
  WorkerInterface::ResultCallback<RunGraphResult> answer_;
  std::promise<Result> result_;  // throws if it is set twice
};

TEST_F(BoundedRunTest, PassesOnTheAnswer) {
  Start(MonotonicNow() + absl::Hours(1));
  answer_(errors::InvalidArgument("a kernel failed"));
  EXPECT_THAT(End(), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(BoundedRunTest, ACancellationEndsTheCallAndReachesTheWorker) {
  Start();
  caller_.StartCancel(errors::Cancelled("another part failed"));
  EXPECT_THAT(End(), StatusIs(absl::StatusCode::kCancelled, testing::HasSubstr("another part failed")));
  EXPECT_TRUE(inner_.cancellation->IsCancelled());
  answer_(RunGraphResult());  // is dropped
}

TEST_F(BoundedRunTest, TheDeadlineEndsTheCall) {
  Start(MonotonicNow() + absl::Milliseconds(10));
  EXPECT_THAT(End(), StatusIs(absl::StatusCode::kDeadlineExceeded));
  answer_(RunGraphResult());
}

TEST_F(BoundedRunTest, ACallThatWasCancelledBeforeDoesNotReachTheWorker) {
  caller_.StartCancel(errors::Cancelled("the client has gone"));
  Start();
  EXPECT_THAT(End(), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_EQ(answer_, nullptr);
}

}  // namespace
}  // namespace weir
