#include "master/session_tasks.h"
#include "core/clock.h"

#include "absl/time/clock.h"
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

}  // namespace
}  // namespace weir
