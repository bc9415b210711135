#include "tools/launch/descendants.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "core/clock.h"
#include "core/process_stat.h"

namespace weir {
namespace {

// SIGCHLDs of several children may be merged into one.
constexpr absl::Duration kLookAgain = absl::Milliseconds(20);

void AwaitChild(absl::Duration patience) {
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  const timespec time = absl::ToTimespec(patience);
  sigtimedwait(&child, nullptr, &time);
}

}  // namespace

void AdoptOrphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

std::set<pid_t> Children() {
  std::set<pid_t> children;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    int pid = 0;
    if (!absl::SimpleAtoi(entry.path().filename().string(), &pid)) continue;
    const std::optional<ProcessStat> stat = ReadProcessStat(entry.path());
    if (stat && stat->parent == getpid()) children.insert(pid);
  }
  return children;
}

void KillDescendants(const std::set<pid_t>& spared, absl::Duration patience) {
  const absl::Time deadline = MonotonicNow() + patience;
  while (MonotonicNow() < deadline) {
    bool any = false;
    for (const pid_t child : Children()) {
      if (spared.count(child) > 0) continue;
      any = true;
      kill(child, SIGKILL);
      waitpid(child, nullptr, WNOHANG);
    }
    if (!any) return;
    AwaitChild(kLookAgain);
  }
}

}  // namespace weir
