// One `weir server` as a child of this process.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "core/mutex.h"
#include "core/status.h"

namespace weir {

// Thread-safe. A thread of its own starts the program and waits for its end: the system kills a child together with
// the thread that forked it, so the process outlives neither this object nor the process that made it. It leads a
// process group of its own, out of Ctrl-C's reach. Destruction is Kill.
class ServerProcess {
 public:
  struct Options {
    std::string name;                    // for errors: "/job:ps/replica:0/task:1"
    std::vector<std::string> arguments;  // the program's path first
    std::vector<std::string> environment;
    std::string ready_file;  // the program writes it when it serves; removed before each start
    std::string log_file;    // gets what the program writes, after what is there
    bool restart = false;    // whenever it ends unasked, a moment later
  };

  explicit ServerProcess(Options options);
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;

  // Starts the program. FailedPrecondition when it runs.
  absl::Status Launch();
  // Waits until it serves. FailedPrecondition when it ended instead, DeadlineExceeded when time is up; both quote the
  // end of the log.
  absl::Status AwaitReady(absl::Duration timeout);
  // -1 when no process is there.
  pid_t pid() const;
  // Nothing when no process is there.
  void Signal(int signal);
  // All of its threads are stopped, by SIGSTOP.
  bool IsStopped() const;
  // SIGKILL, and waits for the end. With `restart` the process is started again; gives the one killed, or -1.
  pid_t Kill();
  // SIGTERM, no restart; gives the exit code, 128 + the signal's number for one ended by a signal. DeadlineExceeded
  // when it is still there after `timeout`; then it is killed.
  absl::StatusOr<int> Terminate(absl::Duration timeout);
  // The whole log.
  std::string Log() const;

 private:
  void Supervise();
  bool AwaitWanted();  // false: the object is going
  void RunOnce();
  pid_t Spawn() const;
  void KillLocked() REQUIRES(mu_);
  std::string LogTail() const;

  const Options options_;
  mutable Mutex mu_;
  mutable std::condition_variable changed_;
  bool wanted_ GUARDED_BY(mu_) = false;    // a process is there or is to be started
  bool finished_ GUARDED_BY(mu_) = false;  // the object is going
  pid_t pid_ GUARDED_BY(mu_) = -1;
  int ends_ GUARDED_BY(mu_) = 0;        // processes that have ended
  int exit_state_ GUARDED_BY(mu_) = 0;  // of the last of them, as waitpid gives it
  std::thread supervisor_;
};

}  // namespace weir
