// Memory with stable addresses, for captured graphs.
#pragma once

#include <string>

#include "core/gpu/gpu_allocator.h"

namespace weir {

// Owns its blocks until it is destroyed: freed blocks are reused by later allocations from the pool. Thread-safe.
class GpuMemoryPool {
 public:
  // Both outlive it. All its memory is used in the order of `stream`. `name` appears in messages, among the holders of
  // memory.
  GpuMemoryPool(GpuAllocator* allocator, GpuStream* stream, std::string name)
      : allocator_(allocator), stream_(stream), id_(allocator->OpenPool(std::move(name))) {}
  // Blocks still in use stay valid.
  ~GpuMemoryPool() { allocator_->ClosePool(id_); }
  GpuMemoryPool(const GpuMemoryPool&) = delete;

  const GpuAllocator& allocator() const { return *allocator_; }
  absl::StatusOr<void*> Allocate(size_t bytes) { return allocator_->AllocateFromPool(id_, bytes, stream_); }
  // The block that contains `data`; nullptr if it is not the pool's.
  const void* BlockOf(const void* data) const { return allocator_->BlockOf(id_, data); }
  GpuAllocator::PoolUse use() const { return allocator_->LookAtPool(id_); }

 private:
  GpuAllocator* const allocator_;
  GpuStream* const stream_;
  const int id_;
};

// While it lives, this thread's allocations from the pool's allocator come from the pool. Scopes do not nest.
class GpuPoolScope {
 public:
  explicit GpuPoolScope(GpuMemoryPool* pool) { current_ = pool; }
  ~GpuPoolScope() { current_ = nullptr; }
  GpuPoolScope(const GpuPoolScope&) = delete;

  // This thread's pool, if it belongs to `allocator`.
  static GpuMemoryPool* Current(const GpuAllocator& allocator) {
    return current_ != nullptr && &current_->allocator() == &allocator ? current_ : nullptr;
  }

 private:
  inline static thread_local GpuMemoryPool* current_ = nullptr;
};

}  // namespace weir
