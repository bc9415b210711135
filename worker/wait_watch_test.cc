#include "worker/wait_watch.h"

#include <map>

#include "core/clock.h"
#include "core/device/device.h"
#include "core/kernel/op_kernel.h"
#include "core/testing.h"
#include "core/threads/event_testing.h"
#include "distribute/transport/fake_worker_testing.h"
#include "tensorflow/core/framework/device_attributes.pb.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kHere[] = "/job:ps/replica:0/task:0", kMine[] = "/job:worker/replica:0/task:0",
               kOther[] = "/job:worker/replica:0/task:1", kThird[] = "/job:worker/replica:0/task:2";
constexpr absl::Duration kShort = absl::Milliseconds(5);

class MasterTask : public FakeWorker {
 public:
  void GetStatusAsync(const CallOptions&, const tensorflow::GetStatusRequest*, tensorflow::GetStatusResponse* response,
                      DoneCallback done) override {
    absl::Status answer;
    {
      MutexLock lock(mu_);
      ++asked_;
      answer = answers_.empty() ? last_ : answers_.front();
      if (!answers_.empty()) answers_.erase(answers_.begin());
      response->add_device_attributes()->set_incarnation(incarnation_);
    }
    done(answer);
  }
  // Answers with these, then with the last of them.
  void Answer(std::vector<absl::Status> answers) {
    MutexLock lock(mu_);
    last_ = answers.back();
    answers_ = std::move(answers);
    asked_ = 0;
  }
  void Restart() {
    MutexLock lock(mu_);
    ++incarnation_;
  }
  int asked() {
    MutexLock lock(mu_);
    return asked_;
  }

 private:
  Mutex mu_;
  std::vector<absl::Status> answers_ GUARDED_BY(mu_);
  absl::Status last_ GUARDED_BY(mu_);
  uint64_t incarnation_ GUARDED_BY(mu_) = 7;
  int asked_ GUARDED_BY(mu_) = 0;
};

class TestQueue : public Resource {
  std::string DebugString() const override { return "queue"; }
};

// Session "mine" waits at a queue of this task; "other" is another master's, and has used it.
class WaitWatchTest : public testing::Test {
 protected:
  WaitWatchTest()
      : work_queue_(WorkQueue::Create({.name = "test", .compute_threads = 1})),
        device_(NewCpuDevice(*DeviceName::Parse(kHere), 0, work_queue_.get())) {
    sessions_ = {{"mine", {kMine, 7}}, {"other", {kOther, 7}}};
    steps_ = {{"mine", {1}}};
    users_ = ResourceUsers::Of(*device_->resources());
  }
  ~WaitWatchTest() override { watch_.reset(); }

  void Use(const std::string& session) {
    const StepContext step{.step_id = 9, .device = device_.get(), .session_handle = session};
    const OpKernelContext ctx(&step, &node_, {}, {}, {});
    users_->Use(ctx, queue_, "queue", "q");
  }
  void Wait() {
    step_.step_id = 1;
    step_.device = device_.get();
    step_.session_handle = "mine";
    node_.set_name("taken");
    node_.set_op("QueueDequeueV2");
    ctx_.emplace(&step_, &node_, absl::Span<const TensorValue>(), absl::Span<const DataType>(), absl::Span<OpOutput>());
    done_ = users_->Await(*ctx_, queue_, "queue", "q", [](const absl::Status&) {});
  }
  void Watch(absl::Duration idle = absl::ZeroDuration()) {
    watch_ = std::make_unique<WaitWatch>(
        WaitWatch::Options{.slow = kShort,
                           .interval = kShort,
                           .idle = idle,
                           .local_task = kHere,
                           .find = [this](absl::string_view task) -> absl::StatusOr<std::shared_ptr<WorkerInterface>> {
                             if (task == kOther) return other_;
                             return living_;
                           },
                           .users = [this] { return std::vector<std::shared_ptr<ResourceUsers>>{users_}; },
                           .master_of = [this](const std::string& session) -> std::optional<MasterWatch::Master> {
                             MutexLock lock(mu_);
                             ++rounds_;
                             const auto found = sessions_.find(session);
                             if (found == sessions_.end()) return std::nullopt;
                             return found->second;
                           },
                           .sessions_of =
                               [this](const std::string& task) {
                                 absl::flat_hash_set<std::string> handles;
                                 MutexLock lock(mu_);
                                 for (const auto& [handle, master] : sessions_) {
                                   if (master.task == task) handles.insert(handle);
                                 }
                                 return handles;
                               },
                           .steps_of =
                               [this](const std::string& session) {
                                 MutexLock lock(mu_);
                                 return steps_[session];
                               },
                           .fail =
                               [this](const std::string& session, int64_t step_id, const absl::Status& reason) {
                                 if (failed_.HasBeenNotified()) return;
                                 EXPECT_EQ(session, "mine");
                                 EXPECT_EQ(step_id, 1);
                                 reason_ = reason;
                                 failed_.Notify();
                               }});
  }
  bool Fails() { return failed_.WaitForNotificationWithTimeout(absl::Seconds(30)); }
  // True if the watch looks at the wait 20 times and does not fail it.
  bool GoesOn() {
    const auto rounds = [this] {
      MutexLock lock(mu_);
      return rounds_;
    };
    const int64_t end = rounds() + 100;
    while (rounds() < end) {
      if (failed_.WaitForNotificationWithTimeout(kShort)) return false;
    }
    return true;
  }

  std::unique_ptr<WorkQueue> work_queue_;
  std::unique_ptr<Device> device_;
  std::shared_ptr<ResourceUsers> users_;
  const std::shared_ptr<TestQueue> queue_ = std::make_shared<TestQueue>();
  const std::shared_ptr<MasterTask> other_ = std::make_shared<MasterTask>(), living_ = std::make_shared<MasterTask>();
  tensorflow::NodeDef node_;
  StepContext step_;
  std::optional<OpKernelContext> ctx_;
  AsyncOpKernel::DoneCallback done_;
  Mutex mu_;
  std::map<std::string, MasterWatch::Master> sessions_ GUARDED_BY(mu_);
  std::map<std::string, std::vector<int64_t>> steps_ GUARDED_BY(mu_);
  int64_t rounds_ GUARDED_BY(mu_) = 0;
  TestEvent failed_;
  absl::Status reason_;
  std::unique_ptr<WaitWatch> watch_;
};

TEST_F(WaitWatchTest, AMasterThatRefusesTwoConnectionsIsLost) {
  Use("other");
  Wait();
  other_->Answer({errors::Unavailable("connection refused")});
  Watch();
  ASSERT_TRUE(Fails());
  EXPECT_GE(other_->asked(), 2);
  EXPECT_THAT(reason_, StatusIs(absl::StatusCode::kUnavailable,
                                AllOf(HasSubstr("Node 'taken' (QueueDequeueV2) on /job:ps/replica:0/task:0"),
                                      HasSubstr("at queue 'q'"), HasSubstr(kOther), HasSubstr("connection refused"))));
  EXPECT_EQ(OriginOf(reason_)->task, kOther);
}

TEST_F(WaitWatchTest, OneRefusalIsNoLoss) {
  Use("other");
  Wait();
  other_->Answer({errors::Unavailable("refused"), absl::OkStatus(), errors::Unavailable("refused"), absl::OkStatus()});
  Watch();
  EXPECT_TRUE(GoesOn());
}

TEST_F(WaitWatchTest, AMasterThatDoesNotAnswerInTimeIsLost) {
  Use("other");
  Wait();
  other_->Answer({errors::DeadlineExceeded("late")});
  Watch();
  ASSERT_TRUE(Fails());
  EXPECT_THAT(reason_.message(), HasSubstr("it has not answered for 5s"));
}

TEST_F(WaitWatchTest, ARestartedMasterIsLostUntilItUsesTheObject) {
  Use("other");
  Wait();
  other_->Restart();
  {
    MutexLock lock(mu_);
    sessions_.erase("other");
    sessions_["again"] = {kOther, 8};
  }
  Watch();
  Use("again");
  watch_->SessionIsLost("other", {kOther, 7}, "it has restarted");
  EXPECT_TRUE(GoesOn());
}

TEST_F(WaitWatchTest, ALostSessionFailsTheWait) {
  Use("other");
  Wait();
  Watch();
  {
    MutexLock lock(mu_);
    sessions_.erase("other");
  }
  EXPECT_TRUE(GoesOn());  // as if it had been closed
  watch_->SessionIsLost("other", {kOther, 7}, "it has restarted");
  ASSERT_TRUE(Fails());
  EXPECT_THAT(reason_.message(), HasSubstr("it has restarted"));
}

TEST_F(WaitWatchTest, AStepOfALivingSessionMayEndTheWait) {
  Use("other");
  Use("third");
  Wait();
  other_->Answer({errors::Unavailable("refused")});
  {
    MutexLock lock(mu_);
    sessions_["third"] = {kThird, 7};
    steps_["third"] = {3};
  }
  Watch();
  EXPECT_TRUE(GoesOn());
  {
    MutexLock lock(mu_);
    steps_["third"].clear();
  }
  EXPECT_TRUE(Fails());
}

TEST_F(WaitWatchTest, ASessionBetweenTwoStepsMayEndTheWait) {
  Use("other");
  Use("third");
  Wait();
  other_->Answer({errors::Unavailable("refused")});
  {
    MutexLock lock(mu_);
    sessions_["third"] = {kThird, 7};
  }
  Watch(/*idle=*/absl::Minutes(1));
  EXPECT_TRUE(GoesOn());
}

TEST_F(WaitWatchTest, MastersThatHaveNotUsedTheObjectDoNotMatter) {
  Wait();
  other_->Answer({errors::Unavailable("refused")});
  Watch();
  EXPECT_TRUE(GoesOn());
  EXPECT_EQ(other_->asked(), 0);
}

TEST_F(WaitWatchTest, AWaitThatEndedIsForgotten) {
  Wait();
  EXPECT_EQ(users_->WaitsFrom(absl::InfiniteFuture()).size(), 1);
  done_(absl::OkStatus());
  EXPECT_TRUE(users_->WaitsFrom(absl::InfiniteFuture()).empty());
}

// The wait becomes slow, the next round asks, the answer does not come.
TEST(WaitWatchTimesTest, ALossIsNamedWithinEightSeconds) {
  const WaitWatch::Options times;
  EXPECT_LT(times.slow + times.interval + times.answer_timeout, absl::Seconds(8));
  EXPECT_LT(times.slow + 2 * times.interval, absl::Seconds(8)) << "if the task refuses connections";
}

}  // namespace
}  // namespace weir
