// One task of `weir launch`: a process group of its own, whose output comes through pipes.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "core/status.h"

namespace weir {

// For one thread, which also made the object's process: the system kills the process when that thread ends.
// Destruction leaves the process alone and closes the pipes.
class TaskProcess {
 public:
  TaskProcess() = default;
  ~TaskProcess() { ClosePipes(); }
  TaskProcess(const TaskProcess&) = delete;

  // Starts the program, which is looked for in PATH; its standard input is empty. A program that cannot be run says so
  // on its standard error and ends with 127, or 126 when it is there. Only while none is there.
  absl::Status Start(const std::vector<std::string>& command, const std::vector<std::string>& environment);

  pid_t pid() const { return pid_; }  // -1: none is there
  // To all of its group.
  void Signal(int signal) const;
  // Ends what the process, which has ended, has left of its group, and gives the exit code, or 128 + the signal's
  // number.
  int Reap();

  // Pipes to read from, which never block: standard output and standard error; -1 when closed.
  int pipe(int which) const { return pipes_[which]; }
  void ClosePipe(int which);
  void ClosePipes();

 private:
  pid_t pid_ = -1;
  int pipes_[2] = {-1, -1};
};

}  // namespace weir
