#include "core/memory/allocator.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/memory/block_pool.h"
#include "core/memory/memory_info.h"
#include "core/memory/size_classes.h"

namespace weir {
namespace {

// Linux overcommits memory and kills a process that uses more than there is, so large blocks are checked first.
bool IsAvailable(size_t bytes) {
  constexpr size_t kLarge = size_t{256} << 20;
  return bytes < kLarge || (bytes <= SIZE_MAX / 2 && static_cast<int64_t>(bytes) <= AvailableMemory());
}

// Each thread counts locally and flushes from time to time.
constexpr int64_t kStatsFlushBytes = 64 << 10;
constexpr int64_t kStatsFlushAllocs = 256;

class SharedStats {
 public:
  void Add(int64_t allocs, int64_t bytes) {
    num_allocs_.fetch_add(allocs, std::memory_order_relaxed);
    Raise(peak_, in_use_.fetch_add(bytes, std::memory_order_relaxed) + bytes);
  }
  void Largest(int64_t bytes) { Raise(largest_, bytes); }
  AllocatorStats Get() const {
    AllocatorStats stats;
    stats.num_allocs = num_allocs_.load(std::memory_order_relaxed);
    // Frees may be flushed before the allocations that they belong to.
    stats.bytes_in_use = std::max<int64_t>(in_use_.load(std::memory_order_relaxed), 0);
    stats.peak_bytes_in_use = std::max(peak_.load(std::memory_order_relaxed), stats.bytes_in_use);
    stats.largest_alloc_size = largest_.load(std::memory_order_relaxed);
    return stats;
  }

 private:
  static void Raise(std::atomic<int64_t>& max, int64_t value) {
    int64_t seen = max.load(std::memory_order_relaxed);
    while (value > seen && !max.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
    }
  }

  std::atomic<int64_t> num_allocs_{0}, in_use_{0}, peak_{0}, largest_{0};
};

#ifndef WEIR_SANITIZER_BUILD

// A thread's own free blocks. There are two lists per size class, so that a thread that allocates and frees in turn,
// and one that only frees blocks of other threads, both reach the shared pool rarely and then move a whole list.
class ThreadCache {
 public:
  ThreadCache(BlockPool* pool, SharedStats* stats) : pool_(pool), stats_(stats) {}
  ~ThreadCache() {
    for (int c = 0; c < kCachedClasses; ++c) {
      pool_->Put(c, classes_[c].current);
      pool_->Put(c, classes_[c].spare);
    }
    stats_->Add(allocs_, bytes_);
  }

  // nullptr: the caller must allocate from the system.
  void* Allocate(int size_class) {
    PerClass& c = classes_[size_class];
    Count(1, static_cast<int64_t>(ClassSize(size_class)));
    if (c.current.count == 0) {
      std::swap(c.current, c.spare);
      if (c.current.count == 0) c.current = pool_->Take(size_class);
      if (c.current.count == 0) return nullptr;
    }
    return c.current.Pop();
  }

  void Free(void* ptr, int size_class) {
    PerClass& c = classes_[size_class];
    Count(0, -static_cast<int64_t>(ClassSize(size_class)));
    if (c.current.count >= ListLength(size_class)) {
      pool_->Put(size_class, c.spare);
      c.spare = c.current;
      c.current = {};
    }
    c.current.Push(ptr);
  }

 private:
  struct PerClass {
    FreeList current, spare;
  };

  static int ListLength(int size_class) {
    return std::clamp(static_cast<int>((16 << 10) / ClassSize(size_class)), 1, 64);
  }

  void Count(int64_t allocs, int64_t bytes) {
    allocs_ += allocs;
    bytes_ += bytes;
    if (allocs_ >= kStatsFlushAllocs || bytes_ >= kStatsFlushBytes || bytes_ <= -kStatsFlushBytes) {
      stats_->Add(std::exchange(allocs_, 0), std::exchange(bytes_, 0));
    }
  }

  BlockPool* const pool_;
  SharedStats* const stats_;
  int64_t allocs_ = 0, bytes_ = 0;
  std::array<PerClass, kCachedClasses> classes_;
};

// Set while the thread has a cache; thread-local objects that are destroyed later free to the shared pool.
thread_local ThreadCache* thread_cache = nullptr;
thread_local bool thread_is_ending = false;

struct ThreadCacheOwner {
  std::unique_ptr<ThreadCache> cache;
  ~ThreadCacheOwner() {
    thread_cache = nullptr;
    thread_is_ending = true;
  }
};

ThreadCache* MakeThreadCache(BlockPool* pool, SharedStats* stats) {
  if (thread_is_ending) return nullptr;
  thread_local ThreadCacheOwner owner;
  owner.cache = std::make_unique<ThreadCache>(pool, stats);
  return thread_cache = owner.cache.get();
}

size_t RetentionLimit() {
  const int64_t memory = PhysicalMemory();
  return memory > 0 ? static_cast<size_t>(memory) / 4 : kMaxPooled;
}

class PooledCpuAllocator final : public Allocator {
 public:
  absl::string_view name() const override { return "cpu"; }

  void* AllocateRaw(size_t bytes) override {
    if (bytes <= kMaxCached) {
      ThreadCache* cache = thread_cache != nullptr ? thread_cache : MakeThreadCache(&pool_, &stats_);
      if (cache != nullptr) {
        void* block = cache->Allocate(ClassOf(bytes));
        if (__builtin_expect(block != nullptr, 1)) return block;
        return FromSystem(ClassSize(ClassOf(bytes)));
      }
    }
    return AllocateShared(bytes);
  }

  void DeallocateRaw(void* ptr, size_t bytes) override {
    if (bytes <= kMaxCached) {
      ThreadCache* cache = thread_cache != nullptr ? thread_cache : MakeThreadCache(&pool_, &stats_);
      if (cache != nullptr) return cache->Free(ptr, ClassOf(bytes));
    }
    const size_t rounded = bytes <= kMaxPooled ? ClassSize(ClassOf(bytes)) : bytes;
    stats_.Add(0, -static_cast<int64_t>(rounded));
    if (bytes > kMaxPooled) return SystemFree(ptr, bytes);
    FreeList list;
    list.Push(ptr);
    pool_.Put(ClassOf(bytes), list);
  }

  AllocatorStats Stats() const override { return stats_.Get(); }
  void ReleaseUnused() override { pool_.ReleaseAll(); }

 private:
  void* AllocateShared(size_t bytes) {
    const size_t rounded = bytes <= kMaxPooled ? ClassSize(ClassOf(bytes)) : bytes;
    void* block = nullptr;
    if (bytes <= kMaxPooled) {
      FreeList list = pool_.Take(ClassOf(bytes));
      if (list.count > 0) block = list.Pop();
      pool_.Put(ClassOf(bytes), list);
    }
    if (block == nullptr) block = FromSystem(rounded);
    if (block != nullptr) stats_.Add(1, static_cast<int64_t>(rounded));
    return block;
  }

  // Releases the pool's blocks and retries before reporting that memory is exhausted.
  void* FromSystem(size_t bytes) {
    stats_.Largest(static_cast<int64_t>(bytes));
    if (!IsAvailable(bytes)) {
      pool_.ReleaseAll();
      if (!IsAvailable(bytes)) return nullptr;
    }
    void* block = SystemAllocate(bytes);
    if (block != nullptr || bytes > SIZE_MAX / 2) return block;
    pool_.ReleaseAll();
    return SystemAllocate(bytes);
  }

  SharedStats stats_;
  BlockPool pool_{RetentionLimit()};
};

using CpuAllocatorType = PooledCpuAllocator;

#else

// Under a sanitizer every block comes from malloc, so that use after free and races on reused memory are detected.
class SystemCpuAllocator final : public Allocator {
 public:
  absl::string_view name() const override { return "cpu"; }
  void* AllocateRaw(size_t bytes) override {
    if (bytes > (size_t{1} << 38) || !IsAvailable(bytes)) return nullptr;
    const size_t rounded = (bytes / kTensorAlignment + 1) * kTensorAlignment;
    void* block = std::aligned_alloc(kTensorAlignment, rounded);
    if (block == nullptr) return nullptr;
    stats_.Add(1, static_cast<int64_t>(bytes));
    stats_.Largest(static_cast<int64_t>(bytes));
    return block;
  }
  void DeallocateRaw(void* ptr, size_t bytes) override {
    stats_.Add(0, -static_cast<int64_t>(bytes));
    std::free(ptr);
  }
  AllocatorStats Stats() const override { return stats_.Get(); }

 private:
  SharedStats stats_;
};

using CpuAllocatorType = SystemCpuAllocator;

#endif

}  // namespace

std::string AllocatorStats::ToString() const {
  return absl::StrCat("allocations: ", num_allocs, ", bytes in use: ", bytes_in_use, ", peak: ", peak_bytes_in_use,
                      ", largest: ", largest_alloc_size, ", limit: ", bytes_limit);
}

Allocator* CpuAllocator() {
  static Allocator* const allocator = new CpuAllocatorType;
  return allocator;
}

}  // namespace weir
