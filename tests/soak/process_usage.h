// The resources that this process, or another, uses.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "core/status.h"

namespace weir {

struct ProcessUsage {
  int64_t resident_bytes = 0;  // without pages of files
  int threads = 0;
  int files = 0;

  std::string ToString() const;
};

// From /proc. 0: this process. NotFound when there is none.
absl::StatusOr<ProcessUsage> UsageOf(pid_t pid = 0);

}  // namespace weir
