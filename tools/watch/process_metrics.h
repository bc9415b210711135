// Resources of this process, as the system counts them.
#pragma once

#include <cstdint>

namespace weir {

// Figures that cannot be read are 0.
struct ProcessMetrics {
  double start_time_seconds = 0;  // since the epoch
  double cpu_seconds = 0;
  int64_t resident_bytes = 0;
  int64_t virtual_bytes = 0;
  int64_t threads = 0;
  int64_t open_files = 0;
  int64_t max_open_files = 0;
};

ProcessMetrics ReadProcessMetrics();
int64_t ResidentBytes();

}  // namespace weir
