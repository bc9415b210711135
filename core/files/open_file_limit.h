// The limit of open files of the process.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace weir {

// Whether an errno says that no more files, sockets included, can be opened.
bool IsOpenFileLimit(int error);
// The same of another library's message.
bool NamesOpenFileLimit(absl::string_view message);
// Whether no file can be opened now.
bool OpenFilesAreUsedUp();
// "the limit of 1024 open files of this process is reached; raise it (ulimit -n, LimitNOFILE= in a systemd unit)"
std::string OpenFileLimitReached();

}  // namespace weir
