// Two processes that watch each other, so that what one of them started does not outlive it.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include "absl/functional/function_ref.h"
#include "core/status.h"

namespace weir {

// SIGCHLD, and the signals by which a user ends a process: SIGINT, SIGTERM, SIGHUP and SIGQUIT, but for those that this
// process was started to ignore, as by nohup.
sigset_t WatchedSignals();

// What the inner process knows of the outer one.
struct GuardedProcess {
  pid_t guard;
  // Whether the outer process is gone; the inner one gets SIGTERM when that happens.
  bool IsAlone() const;
};

// Runs `work` in a child, which leads a process group of its own, adopts the orphans among its descendants, and has
// WatchedSignals blocked. This process passes those that are to end it on to it, and returns what `work` returned, or
// 128 + the number of the signal that ended the child; then it kills all that the child has left. The child in turn is
// to end its descendants when it is alone. Unavailable when there can be no child. The caller has no threads.
absl::StatusOr<int> RunGuarded(absl::FunctionRef<int(const GuardedProcess&)> work);

}  // namespace weir
