// A pair of processes that watch each other, so that processes started by one of them do not outlive it.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include "absl/functional/function_ref.h"
#include "core/status.h"

namespace weir {

// SIGCHLD, and the signals by which users end a process: SIGINT, SIGTERM, SIGHUP and SIGQUIT, except those ignored when
// this process was started, as by nohup.
sigset_t WatchedSignals();

// The inner process's view of the outer one.
struct GuardedProcess {
  pid_t guard;
  // Whether the outer process has ended; the inner one then gets SIGTERM.
  bool IsAlone() const;
};

// Runs `work` in a child process. The caller must be single-threaded.
// - The child leads its own process group, adopts orphaned descendants, and has WatchedSignals blocked. It must end its
//   descendants when it is alone.
// - This process forwards termination signals to the child, and kills all remaining descendants when the child has
//   ended.
// - Returns what `work` returned, or 128 + the signal that ended the child. Unavailable if the child cannot be started.
absl::StatusOr<int> RunGuarded(absl::FunctionRef<int(const GuardedProcess&)> work);

}  // namespace weir
