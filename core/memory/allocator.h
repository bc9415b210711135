// Tensor memory allocators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "core/api.h"

namespace WEIR_API weir {

// Alignment in bytes of every tensor buffer: one cache line, and the widest vector register.
constexpr size_t kTensorAlignment = 64;

struct AllocatorStats {
  int64_t num_allocs = 0;
  int64_t bytes_in_use = 0;
  int64_t peak_bytes_in_use = 0;
  int64_t largest_alloc_size = 0;
  int64_t bytes_limit = 0;  // 0: none

  std::string ToString() const;
};

// Thread-safe. AllocateRaw returns nullptr when memory is exhausted; callers turn that into RESOURCE_EXHAUSTED with the
// node's name. An allocator outlives every buffer taken from it.
class Allocator {
 public:
  virtual ~Allocator() = default;
  virtual absl::string_view name() const = 0;
  // `bytes` aligned to kTensorAlignment. Never blocks.
  virtual void* AllocateRaw(size_t bytes) = 0;
  // `bytes` is the size that was requested.
  virtual void DeallocateRaw(void* ptr, size_t bytes) = 0;
  // May lag by a few small blocks per thread.
  virtual AllocatorStats Stats() const = 0;
  // Returns memory that is cached for reuse to the system (threads keep their small caches).
  virtual void ReleaseUnused() {}
  // Whether the host may read and write the memory.
  virtual bool IsHostMemory() const { return true; }
};

// The process-wide CPU allocator: pooled size classes with a cache per thread, huge pages for large blocks. It has no
// state specific to a server, and lives until the process ends.
Allocator* CpuAllocator();

}  // namespace weir
