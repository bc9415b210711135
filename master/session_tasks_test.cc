#include "master/session_tasks.h"

#include <atomic>
#include <functional>

#include "absl/time/clock.h"
#include "core/clock.h"
#include "core/testing.h"
#include "core/wire/wire_options.h"
#include "distribute/transport/fake_worker_testing.h"

namespace weir {
namespace {

constexpr char kCapableTask[] = "/job:worker/replica:0/task:0";

class CapableWorker : public FakeWorker {
 public:
  int wire_version = 0;
  absl::Status answer;

  void GetCapabilitiesAsync(const CallOptions&, const GetCapabilitiesRequest*, GetCapabilitiesResponse* response,
                            DoneCallback done) override {
    response->set_wire_version(wire_version);
    done(answer);
  }
};

class CapableWorkerPool : public WorkerPool {
 public:
  std::shared_ptr<CapableWorker> worker = std::make_shared<CapableWorker>();

  std::vector<std::string> Tasks() const override { return {kCapableTask}; }
  absl::StatusOr<std::shared_ptr<WorkerInterface>> Get(absl::string_view) override { return worker; }
};

class SessionTasksTest : public testing::Test {
 protected:
  absl::Status Connect() { return tasks_.Connect({.deadline = MonotonicNow() + absl::Seconds(30)}); }

  CapableWorkerPool pool_;
  SessionTasks tasks_{{.workers = &pool_, .local_task = kCapableTask, .session_handle = "s"}};
};

TEST_F(SessionTasksTest, ATaskOfTheSameVersionHasWireOps) {
  pool_.worker->wire_version = kWireVersion;
  ASSERT_THAT(Connect(), IsOk());
  EXPECT_THAT(tasks_.TasksWithWireOps(), testing::ElementsAre(kCapableTask));
}

TEST_F(SessionTasksTest, ATaskOfAnotherVersionHasNoWireOps) {
  pool_.worker->wire_version = kWireVersion + 1;
  ASSERT_THAT(Connect(), IsOk());
  EXPECT_THAT(tasks_.TasksWithWireOps(), testing::IsEmpty());
}

TEST_F(SessionTasksTest, ATaskWithoutPeerServiceHasNoCapabilities) {
  pool_.worker->answer = absl::UnimplementedError("unknown method");
  ASSERT_THAT(Connect(), IsOk());
  EXPECT_THAT(tasks_.TasksWithWireOps(), testing::IsEmpty());
}

// Answers once all tasks have been asked, so asking them in turn would hang.
class Meeting {
 public:
  explicit Meeting(size_t size) : size_(size) {}
  void Join(std::function<void()> answer) {
    std::vector<std::function<void()>> answers;
    {
      MutexLock lock(mu_);
      waiting_.push_back(std::move(answer));
      if (waiting_.size() < size_) return;
      answers.swap(waiting_);
    }
    for (const auto& each : answers) each();
  }

 private:
  const size_t size_;
  Mutex mu_;
  std::vector<std::function<void()>> waiting_ GUARDED_BY(mu_);
};

class MeetingWorker : public FakeWorker {
 public:
  explicit MeetingWorker(Meeting* meeting) : meeting_(meeting) {}

  absl::Status health;
  std::atomic<int> cleared{0};

  void GetStatusAsync(const CallOptions&, const tensorflow::GetStatusRequest*, tensorflow::GetStatusResponse* response,
                      DoneCallback done) override {
    response->add_device_attributes()->set_incarnation(1);
    meeting_->Join([this, done] { done(health); });
  }
  void CreateWorkerSessionAsync(const CallOptions&, const tensorflow::CreateWorkerSessionRequest*,
                                tensorflow::CreateWorkerSessionResponse*, DoneCallback done) override {
    meeting_->Join([done] { done(absl::OkStatus()); });
  }
  void CleanupAllAsync(const CallOptions&, const tensorflow::CleanupAllRequest*, tensorflow::CleanupAllResponse*,
                       DoneCallback done) override {
    ++cleared;
    meeting_->Join([this, done] { done(health); });
  }

 private:
  Meeting* const meeting_;
};

class MeetingPool : public WorkerPool {
 public:
  std::vector<std::string> Tasks() const override { return {"/job:w/task:0", "/job:w/task:1", "/job:w/task:2"}; }
  absl::StatusOr<std::shared_ptr<WorkerInterface>> Get(absl::string_view task) override {
    return workers[task.back() - '0'];
  }

  Meeting meeting{3};
  std::shared_ptr<MeetingWorker> workers[3] = {std::make_shared<MeetingWorker>(&meeting),
                                               std::make_shared<MeetingWorker>(&meeting),
                                               std::make_shared<MeetingWorker>(&meeting)};
};

TEST(SessionTasksTogetherTest, TasksAreAskedAtOnce) {
  MeetingPool pool;
  SessionTasks tasks({.workers = &pool, .session_handle = "s"});
  ASSERT_THAT(tasks.CleanupAll({}, {}), IsOk());
  bool changed = false;
  EXPECT_THAT(tasks.Refresh(&changed), IsOk());
  EXPECT_EQ(tasks.Probe({})->size(), 3);
}

TEST(SessionTasksTogetherTest, ADeadTaskKeepsNoOtherFromBeingCleared) {
  MeetingPool pool;
  pool.workers[0]->health = errors::Unavailable("connection refused");
  SessionTasks tasks({.workers = &pool, .session_handle = "s"});
  EXPECT_THAT(tasks.CleanupAll({}, {}),
              StatusIs(absl::StatusCode::kUnavailable, testing::HasSubstr("Clearing containers on /job:w/task:0")));
  for (const auto& worker : pool.workers) EXPECT_EQ(worker->cleared, 1);
}

}  // namespace
}  // namespace weir
