#include "tools/launch/descendants.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"

namespace weir {
namespace {

// Signals of several children may come as one.
constexpr absl::Duration kLookAgain = absl::Milliseconds(20);

// -1: there is no such process.
pid_t ParentOf(const std::filesystem::path& process) {
  std::ifstream file(process / "stat");
  const std::string stat((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  // "pid (name) state parent …", where the name may hold anything.
  const size_t name_end = stat.rfind(") ");
  if (name_end == std::string::npos) return -1;
  const std::vector<absl::string_view> fields = absl::StrSplit(absl::string_view(stat).substr(name_end + 2), ' ');
  int parent = -1;
  return fields.size() > 1 && absl::SimpleAtoi(fields[1], &parent) ? parent : -1;
}

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
    if (absl::SimpleAtoi(entry.path().filename().string(), &pid) && ParentOf(entry.path()) == getpid()) {
      children.insert(pid);
    }
  }
  return children;
}

void KillDescendants(const std::set<pid_t>& spared, absl::Duration patience) {
  const absl::Time deadline = absl::Now() + patience;
  while (absl::Now() < deadline) {
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
