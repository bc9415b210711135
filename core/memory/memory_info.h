// Available memory of the machine, or of the process's container.
#pragma once

#include <cstdint>
#include <string>

namespace weir {

// Bytes that can be allocated before the kernel kills a process: MemAvailable of /proc/meminfo, or what the cgroup's
// limit (v1 or v2) leaves without page cache, if that is less. INT64_MAX if neither is known. Takes about 50 µs. `root`
// is prepended to the paths, for tests.
int64_t AvailableMemory(const std::string& root = "");

// Bytes of the machine's memory; 0 if unknown.
int64_t PhysicalMemory();

}  // namespace weir
