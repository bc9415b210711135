#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/kernel/step_commit.h"
#include "kernels/op_testing.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Records calls and answers as the test wishes.
class RecordedCommit : public StepCommit {
 public:
  absl::Status decided, ready;
  std::vector<std::string> calls;
  std::function<void(absl::Status)> waiting;

  absl::Status Decide() override {
    calls.push_back("decide");
    return decided;
  }
  absl::Status SetReady() override {
    calls.push_back("ready");
    return ready;
  }
  void AwaitDecision(const std::string& key, std::function<void(absl::Status)> done) override {
    calls.push_back("wait for " + key);
    waiting = std::move(done);
  }
  bool EndWaitsIfCommitted(const absl::Status&) override { return false; }
  CancellationManager* waits() override { return nullptr; }
};

class CommitKernelTest : public OpTest {
 protected:
  CommitKernelTest() { step().commit = &commit_; }

  static std::string Key(const std::string& task) {
    return RendezvousKey::Create("/job:ps/replica:0/task:0/device:CPU:0", 7, task + "/device:CPU:0", "_commit", {});
  }
  Attrs Keys(const std::vector<std::string>& tasks) {
    std::vector<std::string> keys;
    for (const std::string& task : tasks) keys.push_back(Key(task));
    return Attrs().Set("keys", keys);
  }
  // The decision that the coordinator has sent to the task; nullopt: none.
  std::optional<bool> SentTo(const std::string& task) {
    std::optional<bool> sent;
    CancellationManager at_once;
    step().rendezvous->RecvAsync(Key(task), {.cancellation = &at_once}, [&](auto received) {
      if (received.ok()) sent = received->tensor.template scalar<bool>();
    });
    at_once.StartCancel();
    return sent;
  }

  const std::string one_ = "/job:ps/replica:0/task:1", two_ = "/job:ps/replica:0/task:2";
  RecordedCommit commit_;
};

TEST_F(CommitKernelTest, TheDecisionIsSentToEachParticipant) {
  EXPECT_THAT(RunOp("_CommitDecide", {}, Keys({one_, two_})), IsOk());
  EXPECT_THAT(commit_.calls, ElementsAre("decide"));
  EXPECT_EQ(SentTo(one_), true);
  EXPECT_EQ(SentTo(two_), true);
}

TEST_F(CommitKernelTest, AnAbortedStepSendsNothing) {
  commit_.decided = errors::Aborted("the master has gone");
  EXPECT_THAT(RunOp("_CommitDecide", {}, Keys({one_})),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("the master has gone")));
  EXPECT_EQ(SentTo(one_), std::nullopt);
}

// The participants ask for a decision that they do not get.
TEST_F(CommitKernelTest, ADecisionStandsThoughItCannotBeSent) {
  step().rendezvous->StartAbort(errors::Aborted("the step was cleaned up"));
  EXPECT_THAT(RunOp("_CommitDecide", {}, Keys({one_})), IsOk());
}

TEST_F(CommitKernelTest, ATaskThatHasAbortedIsNotReady) {
  EXPECT_THAT(RunOp("_CommitReady", {}), IsOk());
  commit_.ready = errors::Unavailable("the master has gone");
  EXPECT_THAT(RunOp("_CommitReady", {}), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(commit_.calls, ElementsAre("ready", "ready"));
}

TEST_F(CommitKernelTest, AParticipantWaitsForTheDecision) {
  const Attrs attrs = Attrs().Set("key", Key(one_)).Set("coordinator", std::string("/job:ps/replica:0/task:0"));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<OpKernel> kernel, MakeOp("_CommitWait", {}, attrs));
  std::optional<absl::Status> ended;
  RunKernelAsync(static_cast<AsyncOpKernel&>(*kernel), {}, [&](const auto& out) { ended = out.status(); });
  EXPECT_THAT(commit_.calls, ElementsAre("wait for " + Key(one_)));
  cancellation().StartCancel(errors::Cancelled("the client has gone"));
  EXPECT_FALSE(ended.has_value());  // only the decision counts
  commit_.waiting(absl::OkStatus());
  ASSERT_TRUE(ended.has_value());
  EXPECT_THAT(*ended, IsOk());
}

TEST_F(CommitKernelTest, AStepWithoutACommitRunsNoneOfThem) {
  step().commit = nullptr;
  for (const char* op : {"_CommitDecide", "_CommitReady", "_CommitWait"}) {
    EXPECT_THAT(RunOp(op, {}), StatusIs(absl::StatusCode::kInternal, HasSubstr("without a commit"))) << op;
  }
}

}  // namespace
}  // namespace weir
