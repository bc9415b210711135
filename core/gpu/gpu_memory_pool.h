// Memory that stays at its addresses, for what a captured graph works on.
#pragma once

#include <string>

#include "core/gpu/gpu_allocator.h"

namespace weir {

// Blocks that are the pool's as long as it lives: what is freed meanwhile goes to the next who allocates from it.
// Thread-safe.
class GpuMemoryPool {
 public:
  // Both outlive it. All use of its memory is in the order of `stream`. `name`: among those who hold memory, in
  // messages.
  GpuMemoryPool(GpuAllocator* allocator, GpuStream* stream, std::string name)
      : allocator_(allocator), stream_(stream), id_(allocator->OpenPool(std::move(name))) {}
  // Whoever holds memory of it still may go on doing so.
  ~GpuMemoryPool() { allocator_->ClosePool(id_); }
  GpuMemoryPool(const GpuMemoryPool&) = delete;

  const GpuAllocator& allocator() const { return *allocator_; }
  absl::StatusOr<void*> Allocate(size_t bytes) { return allocator_->AllocateFromPool(id_, bytes, stream_); }
  // The block that `data` lies in; nullptr where it is none of the pool's.
  const void* BlockOf(const void* data) const { return allocator_->BlockOf(id_, data); }
  GpuAllocator::PoolUse use() const { return allocator_->LookAtPool(id_); }

 private:
  GpuAllocator* const allocator_;
  GpuStream* const stream_;
  const int id_;
};

// As long as it lives, what this thread allocates of the pool's allocator is memory of the pool. Scopes do not
// nest.
class GpuPoolScope {
 public:
  explicit GpuPoolScope(GpuMemoryPool* pool) { current_ = pool; }
  ~GpuPoolScope() { current_ = nullptr; }
  GpuPoolScope(const GpuPoolScope&) = delete;

  // This thread's, where it is one of `allocator`.
  static GpuMemoryPool* Current(const GpuAllocator& allocator) {
    return current_ != nullptr && &current_->allocator() == &allocator ? current_ : nullptr;
  }

 private:
  inline static thread_local GpuMemoryPool* current_ = nullptr;
};

}  // namespace weir
