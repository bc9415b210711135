#include "worker/worker_session.h"

#include <optional>

#include "core/testing.h"

namespace weir {
namespace {

class WorkerSessionTest : public testing::Test {
 protected:
  // The step's token; its cancellation is counted.
  int64_t Add(int64_t step_id) {
    return *session_.AddStep(step_id, [this](const absl::Status&) { ++cancelled_; });
  }

  WorkerSession session_{{.handle = "s"}};
  int cancelled_ = 0;
};

TEST_F(WorkerSessionTest, StepsHaveEndedOnceTheLastIsRemoved) {
  const int64_t first = Add(1), second = Add(1), other = Add(2);
  bool ended = false;
  const std::vector<int64_t> ids = {1};
  session_.EndSteps(&ids, errors::Aborted("over"), [&] { ended = true; });
  EXPECT_EQ(cancelled_, 2);
  session_.RemoveStep(first);
  session_.RemoveStep(other);
  EXPECT_FALSE(ended);
  session_.RemoveStep(second);
  EXPECT_TRUE(ended);
}

// However many other steps run.
TEST_F(WorkerSessionTest, OnlyTheStepsThatAreNamedAreCancelledOnceForEachCall) {
  const std::vector<int64_t> ids = {7, 7, 99, 5000};
  for (int64_t step = 0; step < 1000; ++step) Add(step);
  for (int calls = 1; calls <= 3; ++calls) {
    session_.EndSteps(&ids, errors::Aborted("over"), [] {});
    EXPECT_EQ(cancelled_, 2 * calls);
  }
}

TEST_F(WorkerSessionTest, StepsThatDoNotRunHaveEnded) {
  bool ended = false;
  const std::vector<int64_t> ids = {1};
  session_.EndSteps(&ids, errors::Aborted("over"), [&] { ended = true; });
  EXPECT_TRUE(ended);
}

TEST_F(WorkerSessionTest, SeveralMayWaitForOneStep) {
  const int64_t token = Add(1);
  int ended = 0;
  for (int i = 0; i < 3; ++i) session_.EndSteps(nullptr, errors::Aborted("over"), [&] { ++ended; });
  session_.RemoveStep(token);
  EXPECT_EQ(ended, 3);
}

TEST_F(WorkerSessionTest, AnEndedSessionTakesNoStep) {
  session_.End();
  EXPECT_EQ(session_.AddStep(1, [](const absl::Status&) {}), std::nullopt);
}

}  // namespace
}  // namespace weir
