// Makes the kernel provide fresh memory now, rather than at the first use of each page.
#pragma once

#include <cstddef>

namespace weir {

// Overwrites a byte of each page. One page at a time: a single system call for all of them would hold the lock that the
// page faults of other threads need.
inline void TouchPages(void* memory, size_t bytes) {
  constexpr size_t kPageBytes = 4096;
  for (size_t at = 0; at < bytes; at += kPageBytes) static_cast<volatile char*>(memory)[at] = 0;
}

}  // namespace weir
