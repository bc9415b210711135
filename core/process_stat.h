// Linux's status of a process or thread.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>

namespace weir {

struct ProcessStat {
  char state = 0;  // 'R' running, 'S' sleeping, 'T' stopped, 'Z' zombie; others in proc(5)
  pid_t parent = -1;
};

// `folder`: "/proc/PID" or "/proc/PID/task/TID". nullopt if there is no such process (any more).
std::optional<ProcessStat> ReadProcessStat(const std::filesystem::path& folder);

}  // namespace weir
