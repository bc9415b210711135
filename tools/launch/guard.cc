#include "tools/launch/guard.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tools/launch/descendants.h"

namespace weir {
namespace {

constexpr absl::Duration kKillPatience = absl::Seconds(5);

[[noreturn]] void RunInner(pid_t guard, absl::FunctionRef<int(const GuardedProcess&)> work) {
  setpgid(0, 0);
  signal(SIGTTOU, SIG_IGN);  // allows writing to the terminal from its background group
  AdoptOrphans();
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  const GuardedProcess process{guard};
  const int code = process.IsAlone() ? 128 + SIGTERM : work(process);
  _exit(code);
}

// Returns the child's exit code.
int PassSignalsOn(pid_t child) {
  const sigset_t signals = WatchedSignals();
  while (true) {
    const int signal = sigwaitinfo(&signals, nullptr);
    if (signal > 0 && signal != SIGCHLD) kill(child, signal);
    int state = 0;
    if (waitpid(child, &state, WNOHANG) != child) continue;
    return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
  }
}

}  // namespace

sigset_t WatchedSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    struct sigaction action;
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) sigaddset(&signals, signal);
  }
  return signals;
}

bool GuardedProcess::IsAlone() const { return getppid() != guard; }

absl::StatusOr<int> RunGuarded(absl::FunctionRef<int(const GuardedProcess&)> work) {
  const std::set<pid_t> spared = Children();
  const sigset_t signals = WatchedSignals();
  signal(SIGCHLD, SIG_DFL);  // if it were ignored, children would leave no exit code
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  AdoptOrphans();
  const pid_t guard = getpid();
  const pid_t child = fork();
  if (child < 0) return errors::Unavailable("fork: ", std::strerror(errno));
  if (child == 0) RunInner(guard, work);
  setpgid(child, child);
  const int code = PassSignalsOn(child);
  KillDescendants(spared, kKillPatience);
  return code;
}

}  // namespace weir
