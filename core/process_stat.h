// What Linux tells of a process or thread.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>

namespace weir {

struct ProcessStat {
  char state = 0;  // 'R' runs, 'S' sleeps, 'T' is stopped, 'Z' has ended; proc(5) has the others
  pid_t parent = -1;
};

// `folder`: "/proc/PID" or "/proc/PID/task/TID". nullopt: there is no such process any more, be it since a moment ago.
std::optional<ProcessStat> ReadProcessStat(const std::filesystem::path& folder);

}  // namespace weir
