// Runs and supervises the tasks of `weir launch`.
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

// Single-threaded, in a process created by RunGuarded, on its first thread. See RunLaunch for the behaviour. A slow
// reader of the output slows the tasks down; at most OutputQueue::kFull is buffered.
class Launcher {
 public:
  struct Options {
    std::vector<std::string> command;
    bool keep_going = false;
    int restarts = 0;  // per task
    absl::Duration grace;
    std::string log_directory;    // an existing directory, or empty
    std::string board_directory;  // WEIR_LOGDIR for the tasks; empty: that of this process
  };

  Launcher(Options options, const std::vector<LaunchTask>& tasks, const GuardedProcess& process);
  ~Launcher();

  // Call once. Returns the exit code.
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
    absl::Time start_at = absl::InfiniteFuture();  // time of the next start or restart
    bool ended = false;                            // finally
  };

  void Start(Task& task);
  absl::Status OpenLog(Task& task);
  std::vector<std::string> EnvironmentOf(const Task& task) const;
  // One iteration of the event loop: waits for an event and handles it.
  void Turn();
  void Wait(std::vector<pollfd>* files);
  absl::Time NextDeadline() const;
  void TakeSignals();
  void ReapChildren();
  void TaskEnded(Task& task);
  void TaskFailed(Task& task, int code);
  // Reads what is available; closes the pipe at its end.
  void Read(Task& task, int which);
  void Print(Task& task, int which, absl::string_view line);
  void WriteLog(Task& task, absl::string_view text);
  void Say(absl::string_view text);
  void WriteOutput();
  // Writes until nothing is left, or no progress was made for a grace period.
  void Flush();
  // Sends the signal to all tasks and begins the grace period if it has not begun; prevents further starts.
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
  bool signalled_ = false;  // by the user: a second signal kills the tasks
  absl::Time kill_at_ = absl::InfiniteFuture();
  std::optional<int> code_;  // of the first failure
};

}  // namespace weir
