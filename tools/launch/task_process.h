// One task of `weir launch`: a process in its own group, with pipes for its output.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "core/status.h"

namespace weir {

// Single-threaded: the system kills the process when the thread that started it ends. The destructor leaves the process
// running and closes the pipes.
class TaskProcess {
 public:
  TaskProcess() = default;
  ~TaskProcess() { ClosePipes(); }
  TaskProcess(const TaskProcess&) = delete;

  // Starts the program, searched in PATH, with empty standard input. A program that cannot be run is reported on its
  // standard error and exits with 127, or 126 if it exists. Only if none is running.
  absl::Status Start(const std::vector<std::string>& command, const std::vector<std::string>& environment);

  pid_t pid() const { return pid_; }  // -1: not running
  // Sends the signal to its process group.
  void Signal(int signal) const;
  // Kills what the process, which has ended, left in its group, and returns the exit code, or 128 + the signal's
  // number.
  int Reap();

  // Non-blocking pipes for reading standard output and standard error; -1 when closed.
  int pipe(int which) const { return pipes_[which]; }
  void ClosePipe(int which);
  void ClosePipes();

 private:
  pid_t pid_ = -1;
  int pipes_[2] = {-1, -1};
};

}  // namespace weir
