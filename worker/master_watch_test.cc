#include "worker/master_watch.h"

#include <atomic>
#include <utility>

#include "absl/time/clock.h"
#include "core/clock.h"
#include "core/mutex.h"
#include "core/testing.h"
#include "core/threads/event_testing.h"
#include "distribute/transport/fake_worker_testing.h"
#include "tensorflow/core/framework/device_attributes.pb.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

constexpr char kMaster[] = "/job:worker/replica:0/task:1";

class MasterTask : public FakeWorker {
 public:
  std::atomic<uint64_t> incarnation{7};
  std::atomic<bool> answers{true};
  std::atomic<int> asked{0};
  std::atomic<bool> holds_next{false};

  // The question that came while holds_next was set; null if there is none.
  DoneCallback TakeHeld() {
    MutexLock lock(mu_);
    return std::exchange(held_, nullptr);
  }

  void GetStatusAsync(const CallOptions&, const tensorflow::GetStatusRequest*, tensorflow::GetStatusResponse* response,
                      DoneCallback done) override {
    ++asked;
    if (holds_next.exchange(false)) {
      MutexLock lock(mu_);
      held_ = std::move(done);
      return;
    }
    if (!answers) return done(errors::Unavailable("connection refused"));
    response->add_device_attributes()->set_incarnation(3);
    response->add_device_attributes()->set_incarnation(incarnation);
    done(absl::OkStatus());
  }

 private:
  Mutex mu_;
  DoneCallback held_ GUARDED_BY(mu_);
};

class MasterWatchTest : public testing::Test {
 protected:
  void Watch(absl::Duration lease) {
    watch_ = std::make_unique<MasterWatch>(MasterWatch::Options{
        .lease = lease,
        .find = [this](absl::string_view task) -> absl::StatusOr<std::shared_ptr<WorkerInterface>> {
          if (task != kMaster) return errors::NotFound("no task ", task);
          return task_;
        },
        .masters =
            [this] {
              ++rounds_;
              return masters_;
            },
        .gone =
            [this](const MasterWatch::Master& master, const std::string& reason) {
              if (gone_.HasBeenNotified()) return;
              gone_master_ = master;
              reason_ = reason;
              gone_.Notify();
            }});
  }

  // True if `happened` becomes true.
  template <typename Happened>
  static bool Becomes(Happened happened) {
    const absl::Time end = MonotonicNow() + absl::Seconds(30);
    while (!happened() && MonotonicNow() < end) absl::SleepFor(absl::Milliseconds(1));
    return happened();
  }

  const std::shared_ptr<MasterTask> task_ = std::make_shared<MasterTask>();
  std::vector<MasterWatch::Master> masters_ = {{kMaster, 7}};
  std::atomic<int> rounds_{0};
  TestEvent gone_;
  MasterWatch::Master gone_master_;
  std::string reason_;
  std::unique_ptr<MasterWatch> watch_;
};

TEST_F(MasterWatchTest, ARestartedMasterIsGoneAtOnce) {
  Watch(absl::Milliseconds(40));
  ASSERT_TRUE(Becomes([this] { return task_->asked > 3; }));
  EXPECT_FALSE(gone_.HasBeenNotified());
  task_->incarnation = 8;
  ASSERT_TRUE(gone_.WaitForNotificationWithTimeout(absl::Seconds(30)));
  EXPECT_EQ(gone_master_, (MasterWatch::Master{kMaster, 7}));
  EXPECT_EQ(reason_, "it has restarted");
}

TEST_F(MasterWatchTest, AMasterThatDoesNotAnswerIsGoneAfterTheLease) {
  task_->answers = false;
  Watch(absl::Milliseconds(40));
  ASSERT_TRUE(gone_.WaitForNotificationWithTimeout(absl::Seconds(30)));
  EXPECT_GE(task_->asked, 2);
  EXPECT_THAT(reason_, HasSubstr("it has not answered for 40ms: connection refused"));
}

// As when this process was stopped meanwhile.
TEST_F(MasterWatchTest, OneFailureAfterALongTimeEndsNothing) {
  constexpr absl::Duration kLease = absl::Milliseconds(40);
  Watch(kLease);
  ASSERT_TRUE(Becomes([this] { return task_->asked > 3; }));
  task_->holds_next = true;
  WorkerInterface::DoneCallback held;
  ASSERT_TRUE(Becomes([&] { return held != nullptr || (held = task_->TakeHeld()) != nullptr; }));
  const absl::Time end = MonotonicNow() + kLease;
  while (MonotonicNow() <= end) absl::SleepFor(absl::Milliseconds(1));
  held(errors::Unavailable("connection refused"));
  const int asked = task_->asked;
  ASSERT_TRUE(Becomes([&] { return task_->asked > asked + 1; }));
  EXPECT_FALSE(gone_.HasBeenNotified());
}

TEST_F(MasterWatchTest, MastersOfOtherClustersAreNotWatched) {
  masters_ = {{"/job:worker/replica:0/task:1@127.0.0.1:2222", 7}};
  task_->answers = false;
  Watch(absl::Milliseconds(20));
  ASSERT_TRUE(Becomes([this] { return rounds_ > 8; }));
  EXPECT_EQ(task_->asked, 0);
  EXPECT_FALSE(gone_.HasBeenNotified());
}

TEST_F(MasterWatchTest, AMasterOfUnknownIncarnationOnlyHasToAnswer) {
  masters_ = {{kMaster, 0}};
  Watch(absl::Milliseconds(20));
  ASSERT_TRUE(Becomes([this] { return task_->asked > 8; }));
  EXPECT_FALSE(gone_.HasBeenNotified());
}

}  // namespace
}  // namespace weir
