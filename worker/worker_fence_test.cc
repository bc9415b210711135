// Fences and outcomes of steps at a worker.
#include <thread>

#include "core/clock.h"
#include "core/testing.h"
#include "worker/worker.h"
#include "worker/worker_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

// Steps that wait for a tensor that never comes, or ignore their cancellation.
class WorkerFenceTest : public WorkerTest {
 protected:
  ~WorkerFenceTest() override { HeldKernels::Release(); }

  void StartHeldStep(int64_t step_id, Promise<Fetched>* result, const std::string& session = "s") {
    Node* const hold = g_.Add("TestHold", {}, {}, {}, "hold").node;
    g_.I64("Neg", {g_.Int(1)}, {hold});
    const auto handle = Register({}, {}, session);
    ASSERT_TRUE(handle.ok()) << handle.status();
    Start({.session_handle = session, .graph_handle = *handle, .step_id = step_id}, result);
    HeldKernels::Await(1);
  }
  void StartWaitingStep(int64_t step_id, Promise<Fetched>* result) {
    Fetch(g_.Add("_Recv", {}, TransferAttrs("never", false, false)), absl::StrCat("r", step_id));
    const auto handle = Register({}, {absl::StrCat("r", step_id)});
    ASSERT_TRUE(handle.ok()) << handle.status();
    Start({.graph_handle = *handle, .step_id = step_id}, result);
  }
  absl::StatusOr<ResolveStepResponse> Resolve(const std::string& session, int64_t step) {
    ResolveStepRequest request;
    ResolveStepResponse response;
    request.set_session_handle(session);
    request.set_step_id(step);
    Promise<absl::Status> done;
    worker_->ResolveStepAsync({}, &request, &response, [&](absl::Status s) { done.Set(std::move(s)); });
    RETURN_IF_ERROR(done.Wait());
    return response;
  }
};

TEST_F(WorkerFenceTest, EndsTheStepsThatItNames) {
  Promise<Fetched> held, other;
  StartHeldStep(1, &held);
  StartWaitingStep(2, &other);
  Promise<absl::Status> fenced;
  StartFence("s", {1, 99}, &fenced);
  EXPECT_FALSE(fenced.IsSet());  // the step still runs
  HeldKernels::Release();
  EXPECT_TRUE(fenced.Wait().ok());
  EXPECT_EQ(held.Wait().status().code(), absl::StatusCode::kAborted);
  EXPECT_FALSE(other.IsSet());
  EXPECT_TRUE(Fence("s", {2}).ok());
  EXPECT_EQ(other.Wait().status().code(), absl::StatusCode::kAborted);
}

TEST_F(WorkerFenceTest, TheDeadlineEndsTheWaitForAStepThatIgnoresItsCancellation) {
  Promise<Fetched> held;
  StartHeldStep(4, &held);
  const absl::Status late = Fence("s", {4}, {.deadline = MonotonicNow() + absl::Milliseconds(20)});
  EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(late.message()), HasSubstr("step 4 in node 'hold' (TestHold)"));
  EXPECT_EQ(OriginOf(late).value_or(ErrorOrigin()).task, kTask);
  HeldKernels::Release();
  EXPECT_FALSE(held.Wait().ok());
  EXPECT_TRUE(Fence("s", {4}).ok());
}

TEST_F(WorkerFenceTest, TheDeadlineEndsTheWaitForStepsOfAnEarlierSession) {
  Promise<Fetched> held;
  StartHeldStep(5, &held);
  const absl::Status late = CreateSession("later", /*incarnation=*/2, false, MonotonicNow() + absl::Milliseconds(20));
  EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded);
  HeldKernels::Release();
  EXPECT_FALSE(held.Wait().ok());
  EXPECT_TRUE(CreateSession("later", /*incarnation=*/2).ok());
}

TEST_F(WorkerFenceTest, ASessionThatIsGoneIsAborted) {
  EXPECT_EQ(Fence("gone", {1}).code(), absl::StatusCode::kAborted);
}

TEST_F(WorkerFenceTest, TooManyStepsAreRejected) {
  EXPECT_TRUE(Fence("s", std::vector<int64_t>(1024, 1)).ok());
  EXPECT_EQ(Fence("s", std::vector<int64_t>(1025, 1)).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(WorkerFenceTest, TheOutcomeOfAStepOfAnUnknownSessionIsUnknown) {
  EXPECT_EQ(Resolve("gone", 1).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(WorkerFenceTest, AnOutcomeIsAnsweredAfterTheEndOfTheSession) {
  DeleteSession("s");
  const auto resolved = Resolve("s", 1);
  ASSERT_TRUE(resolved.ok()) << resolved.status();
  EXPECT_FALSE(resolved->committed());
}

TEST_F(WorkerFenceTest, AForgottenOutcomeIsNoAbort) {
  for (int64_t step = 1; step <= 4097; ++step) ASSERT_TRUE(Resolve("s", step).ok());
  EXPECT_EQ(Resolve("s", 1).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(WorkerFenceTest, ANewSessionOfARestartedMasterEndsTheStepsOfTheOld) {
  Promise<Fetched> held;
  StartHeldStep(3, &held);
  Promise<absl::Status> opened;
  StartSession("later", /*incarnation=*/2, &opened);
  EXPECT_FALSE(opened.IsSet());
  HeldKernels::Release();
  EXPECT_TRUE(opened.Wait().ok());
  EXPECT_EQ(held.Wait().status().code(), absl::StatusCode::kCancelled);
}

// A kernel holds up the thread that ends the session, between its removal from the open ones and the end of its steps.
TEST_F(WorkerFenceTest, FindsTheStepsOfASessionThatEnds) {
  g_.Add("TestHoldCancel");
  const auto handle = Register({}, {});
  ASSERT_TRUE(handle.ok()) << handle.status();
  Promise<Fetched> held;
  Start({.graph_handle = *handle, .step_id = 1}, &held);
  std::thread deleter([&] { DeleteSession("s"); });
  HeldKernels::AwaitCancels(1);
  EXPECT_EQ(Register({}, {}).status().code(), absl::StatusCode::kAborted);  // the session is no longer open
  Promise<absl::Status> fenced;
  StartFence("s", {1}, &fenced);
  EXPECT_FALSE(fenced.IsSet());
  HeldKernels::Release();
  deleter.join();
  EXPECT_TRUE(fenced.Wait().ok());
  EXPECT_EQ(held.Wait().status().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace weir
