#include "core/memory/freed_memory.h"

#include <malloc.h>

#include "core/mutex.h"

namespace weir {
namespace {

// malloc maps and unmaps larger blocks one by one.
constexpr int kLargestKept = 32 << 20;
// Bytes at the end of a heap.
constexpr int kKept = 512 << 20, kNotReturned = 1 << 20;

Mutex mu;
bool keeps GUARDED_BY(mu) = false;
int num_returns GUARDED_BY(mu) = 0;

}  // namespace

void KeepFreedMemory() {
  mallopt(M_MMAP_THRESHOLD, kLargestKept);
  mallopt(M_TRIM_THRESHOLD, kKept);
  MutexLock lock(mu);
  keeps = true;
}

FreedMemoryReturn::FreedMemoryReturn() {
  MutexLock lock(mu);
  if (num_returns++ == 0 && keeps) mallopt(M_TRIM_THRESHOLD, kNotReturned);
}

FreedMemoryReturn::~FreedMemoryReturn() {
  malloc_trim(0);
  MutexLock lock(mu);
  if (--num_returns == 0 && keeps) mallopt(M_TRIM_THRESHOLD, kKept);
}

}  // namespace weir
