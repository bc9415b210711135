// A `weir server` as a child process.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "core/api.h"
#include "core/mutex.h"
#include "core/status.h"

namespace WEIR_API weir {

// Runs one child process. Thread-safe.
// - Its own thread starts the program and waits for its end: the system kills a child with the thread that forked it,
//   so the child ends with this object and with this process.
// - The child leads its own process group, so Ctrl-C does not reach it.
// - Destruction calls Kill.
class ServerProcess {
 public:
  struct Options {
    std::string name;                    // for errors: "/job:ps/replica:0/task:1"
    std::vector<std::string> arguments;  // the program's path first
    std::vector<std::string> environment;
    std::string ready_file;  // written by the program once it is serving; removed before each start
    std::string log_file;    // the program's output is appended to it
    bool restart = false;    // restarts the program shortly after it ends unrequested
  };

  explicit ServerProcess(Options options);
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;

  // Starts the program. FailedPrecondition if it is running.
  absl::Status Launch();
  // Waits until the program is serving. FailedPrecondition if it ended instead, DeadlineExceeded after `timeout`; both
  // quote the end of the log.
  absl::Status AwaitReady(absl::Duration timeout);
  // -1 if there is no process.
  pid_t pid() const;
  // No effect if there is no process.
  void Signal(int signal);
  // True if SIGSTOP has stopped all its threads.
  bool IsStopped() const;
  // Sends SIGKILL and waits for the end. Returns the killed process's pid, or -1. With `restart` the program is started
  // again.
  pid_t Kill();
  // Sends SIGTERM; the program is not restarted. Returns the exit code, or 128 + the number of the signal that ended
  // it. After `timeout` it is killed: DeadlineExceeded.
  absl::StatusOr<int> Terminate(absl::Duration timeout);
  // The whole log.
  std::string Log() const;

 private:
  void Supervise();
  bool AwaitWanted();  // false: the object is being destroyed
  void RunOnce();
  pid_t Spawn() const;
  void KillLocked() REQUIRES(mu_);
  std::string LogTail() const;

  const Options options_;
  mutable Mutex mu_;
  mutable std::condition_variable changed_;
  bool wanted_ GUARDED_BY(mu_) = false;    // a process is running or should be started
  bool finished_ GUARDED_BY(mu_) = false;  // the object is being destroyed
  pid_t pid_ GUARDED_BY(mu_) = -1;
  int ends_ GUARDED_BY(mu_) = 0;        // processes that have ended
  int exit_state_ GUARDED_BY(mu_) = 0;  // of the last of them, from waitpid
  std::thread supervisor_;
};

}  // namespace weir
