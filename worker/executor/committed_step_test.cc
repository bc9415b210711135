// Steps whose updates are committed, in which nodes fail.
#include <set>

#include "core/kernel/step_commit.h"
#include "core/mutex.h"
#include "core/testing.h"
#include "worker/executor/executor_testing.h"
#include "worker/executor/step_execution.h"

namespace weir {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// Releases what the step holds once it learns of a failure.
class Commit : public StepCommit {
 public:
  explicit Commit(bool is_committed) : is_committed_(is_committed) {}
  absl::Status Decide() override { return absl::OkStatus(); }
  absl::Status SetReady() override { return absl::OkStatus(); }
  void AwaitDecision(const std::string&, std::function<void(absl::Status)> done) override { done(absl::OkStatus()); }
  bool EndWaitsIfCommitted(const absl::Status& failure) override {
    if (is_committed_) waits_.StartCancel(failure);
    HeldKernels::Release();
    return is_committed_;
  }
  CancellationManager* waits() override { return &waits_; }

 private:
  const bool is_committed_;
  CancellationManager waits_;
};

class RanNodes : public StepObserver {
 public:
  void NodeDone(const Node& node, int64_t, int64_t, absl::Span<const OpOutput>) override {
    MutexLock lock(mu_);
    names_.insert(node.name());
  }
  std::set<std::string> names() {
    MutexLock lock(mu_);
    return names_;
  }

 private:
  Mutex mu_;
  std::set<std::string> names_ GUARDED_BY(mu_);
};

// "held" ends once "fails" has failed; "update" follows it, and "lost" would need both.
std::set<std::string> NodesThatRun(bool is_committed) {
  TestGraph g;
  const Out held = g.Add("TestHold", {}, {}, {}, "held");
  const Out fails = g.Add("TestFail", {}, {}, {}, "fails");
  g.Add("TestBurn", {g.Int(1)}, {}, {held.node}, "update");
  g.Add("TestBurn", {g.Int(1)}, {}, {held.node, fails.node}, "lost");
  ExecutorHarness h;
  const auto executor = h.Compile(g.Take());
  EXPECT_THAT(executor, IsOk());
  if (!executor.ok()) return {};
  Commit commit(is_committed);
  RanNodes observer;
  CancellationManager cancellation;
  const std::shared_ptr<Rendezvous> rendezvous = NewLocalRendezvous();
  StepContext context;
  context.step_id = 1;
  context.device = h.device();
  context.rendezvous = rendezvous.get();
  context.cancellation = &cancellation;
  context.commit = &commit;
  std::vector<Tensor> results;
  const absl::Status status = (*executor)->RunSync({.context = &context, .results = &results, .observer = &observer});
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInternal, HasSubstr("no luck")));
  EXPECT_EQ(cancellation.IsCancelled(), !is_committed);
  return observer.names();
}

TEST(CommittedStepTest, AFailedNodeDoesNotStopOtherUpdates) {
  const std::set<std::string> ran = NodesThatRun(true);
  EXPECT_THAT(ran, Contains("update"));
  EXPECT_THAT(ran, Not(Contains("lost")));
}

TEST(CommittedStepTest, AStepThatIsNotCommittedEnds) { EXPECT_THAT(NodesThatRun(false), Not(Contains("update"))); }

}  // namespace
}  // namespace weir
