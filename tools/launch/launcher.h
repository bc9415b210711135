// Runs the tasks of `weir launch` and minds them until the last has ended.
#pragma once

#include <poll.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/status.h"
#include "tools/launch/guard.h"
#include "tools/launch/launch_tasks.h"
#include "tools/launch/line_buffer.h"
#include "tools/launch/output_queue.h"
#include "tools/launch/task_process.h"

namespace weir {

// For one thread, in a process that RunGuarded made: the first that starts there. See RunLaunch for what it does.
// A slow reader of its output slows the tasks down; nothing is kept beyond OutputQueue::kFull.
class Launcher {
 public:
  struct Options {
    std::vector<std::string> command;
    bool keep_going = false;
    int restarts = 0;  // of each task
    absl::Duration grace;
    std::string log_directory;  // is there, or empty
  };

  Launcher(Options options, const std::vector<LaunchTask>& tasks, const GuardedProcess& process);
  ~Launcher();

  // Once. The exit code.
  int Run();

 private:
  struct Task {
    LaunchTask what;
    std::string name;  // "worker 0"
    int number = 0;
    TaskProcess process;
    LineBuffer lines[2];  // of standard output and standard error
    int log = -1;
    int restarts_left = 0;
    absl::Time start_at = absl::InfiniteFuture();  // to be started, or started again
    bool ended = false;                            // for good
  };

  void Start(Task& task);
  absl::Status OpenLog(Task& task);
  // One round: waits for something to happen, and does what is to be done then.
  void Turn();
  void Wait(std::vector<pollfd>* files);
  absl::Time NextDeadline() const;
  void TakeSignals();
  void ReapChildren();
  void TaskEnded(Task& task);
  void TaskFailed(Task& task, int code);
  // Reads what is there; at the pipe's end closes it.
  void Read(Task& task, int which);
  void Print(Task& task, int which, absl::string_view line);
  void WriteLog(Task& task, absl::string_view text);
  void Say(absl::string_view text);
  void WriteOutput();
  // Until all is written, or nothing could be for a grace period.
  void Flush();
  // Sends the signal to all tasks and starts the grace period, if it has not begun; nothing is started any more.
  void Stop(int signal);
  void SignalAll(int signal);
  bool AllEnded() const;
  bool WorkIsDone() const;

  const Options options_;
  const GuardedProcess guarded_;
  std::vector<std::unique_ptr<Task>> tasks_;
  size_t name_width_ = 0;
  bool colored_[2] = {};
  int signals_ = -1;  // a signalfd
  OutputQueue output_;
  bool stopping_ = false;
  bool signalled_ = false;  // by the user: once more, and the tasks are killed
  absl::Time kill_at_ = absl::InfiniteFuture();
  std::optional<int> code_;  // of the first cause
};

}  // namespace weir
