#include "core/files/open_file_limit.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace weir {

bool IsOpenFileLimit(int error) { return error == EMFILE || error == ENFILE; }

bool NamesOpenFileLimit(absl::string_view message) {
  return absl::StrContains(message, std::generic_category().message(EMFILE)) ||
         absl::StrContains(message, std::generic_category().message(ENFILE));
}

bool OpenFilesAreUsedUp() {
  const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return IsOpenFileLimit(errno);
  close(fd);
  return false;
}

std::string OpenFileLimitReached() {
  rlimit limit;
  const bool is_known = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return absl::StrCat("the limit of ", is_known ? absl::StrCat(limit.rlim_cur, " ") : "",
                      "open files of this process is reached; raise it (ulimit -n, LimitNOFILE= in a systemd unit)");
}

}  // namespace weir
