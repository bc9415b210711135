#include "tools/parent_process.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "absl/strings/str_cat.h"

namespace weir {

absl::Status EndWithParent(int parent) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return absl::ErrnoToStatus(errno, "prctl(PR_SET_PDEATHSIG)");
  // It may have ended before that.
  if (getppid() == parent) return absl::OkStatus();
  return errors::Cancelled("Process ", parent, ", given by --parent, has ended or did not start this one");
}

}  // namespace weir
