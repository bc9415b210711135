#include "tools/server.h"

#include <system_error>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/notification.h"
#include "core/logging.h"
#include "core/mutex.h"
#include "master/wait_survey.h"
#include "tools/joining_task.h"
#include "tools/served_task.h"

namespace weir {

// Shared with the thread that stops the task.
struct Server::Running {
  Mutex mu;
  std::unique_ptr<ServedTask> task GUARDED_BY(mu);  // null: it has stopped
  absl::Notification stopped;
};

Server::Server(std::unique_ptr<ServedTask> task)
    : task_(task.get()), name_(task->task()), running_(std::make_shared<Running>()) {
  MutexLock lock(running_->mu);
  running_->task = std::move(task);
}

Server::~Server() {
  if (const absl::Status stopped = Stop(); !stopped.ok()) {
    WEIR_LOG(ERROR).With("task", name_) << stopped.message();
    stopping_.detach();
  }
}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(Options options) {
  std::unique_ptr<JoiningTask> joining;
  if (!options.join.empty()) {
    ASSIGN_OR_RETURN(joining, JoiningTask::Begin(&options));
  }
  auto task = std::make_unique<ServedTask>(std::move(options), std::move(joining));
  const absl::Status started = task->Start();
  std::unique_ptr<Server> server(new Server(std::move(task)));
  RETURN_IF_ERROR(started);
  return server;
}

const std::string& Server::address() const { return task_->address(); }
const std::string& Server::http_address() const { return task_->http_address(); }
MasterInterface* Server::master() const { return task_->master(); }

void Server::StopTask(const std::shared_ptr<Running>& running, ServedTask* task, absl::Duration patience) {
  task->Stop(patience);
  std::unique_ptr<ServedTask> stopped;
  {
    MutexLock lock(running->mu);
    stopped = std::move(running->task);
  }
  stopped.reset();
  running->stopped.Notify();
}

absl::Status Server::Stop(absl::Duration patience, absl::Duration limit) {
  if (ServedTask* const task = std::exchange(task_, nullptr); task != nullptr) {
    try {
      stopping_ = std::thread([running = running_, task, patience] { StopTask(running, task, patience); });
    } catch (const std::system_error&) {  // no thread is left: stop without a limit
      StopTask(running_, task, patience);
    }
  }
  if (running_->stopped.WaitForNotificationWithTimeout(patience + limit)) {
    if (stopping_.joinable()) stopping_.join();
    return absl::OkStatus();
  }
  absl::btree_set<std::string> nodes;
  {
    MutexLock lock(running_->mu);
    if (running_->task != nullptr) {
      for (const StepWait& wait : running_->task->Waits()) nodes.insert(DescribeWait(wait));
    }
  }
  return errors::DeadlineExceeded("Task ", name_, " did not stop within ", absl::FormatDuration(patience + limit),
                                  ": steps have not ended, although they are cancelled",
                                  nodes.empty() ? "" : absl::StrCat(", in ", absl::StrJoin(nodes, ", ")));
}

}  // namespace weir
