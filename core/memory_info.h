// How much memory the machine, or the container that the process runs in, has left.
#pragma once

#include <cstdint>
#include <string>

namespace weir {

// Bytes that can be had without the kernel having to end a process: MemAvailable of /proc/meminfo, or what the control
// group's limit (version 2 or 1) leaves, page cache not counted, where that is less. INT64_MAX where neither is known.
// Takes some 50 us. `root` stands before the paths, for tests.
int64_t AvailableMemory(const std::string& root = "");

// Bytes that the machine has; 0 where that is not known.
int64_t PhysicalMemory();

}  // namespace weir
