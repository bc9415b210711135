// Stream-ordered allocation of GPU memory, and of pinned host memory for copies.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/node_hash_map.h"
#include "core/gpu/bfc_arena.h"
#include "core/gpu/stream_timeline.h"
#include "core/memory/allocator.h"
#include "core/mutex.h"

namespace weir {

// Names the node that this thread allocates for, in messages. `name` outlives the scope. Scopes nest.
class GpuAllocationScope {
 public:
  explicit GpuAllocationScope(absl::string_view name);
  ~GpuAllocationScope();
  GpuAllocationScope(const GpuAllocationScope&) = delete;

 private:
  const absl::string_view before_;
};

struct GpuAllocatorStats : AllocatorStats {
  int64_t bytes_reserved = 0;  // in regions taken from the device
  int64_t largest_free_block = 0;
  int64_t num_regions = 0;
  int64_t num_waits = 0;       // streams made to wait for another stream's use of memory
  int64_t num_retries = 0;     // allocations that had to wait for memory
  int64_t bytes_in_pools = 0;  // of those in use: held by captured graphs
  int64_t num_pools = 0;
  // Share of the free reserved memory outside of the largest free block, 0 to 1.
  double fragmentation = 0;

  std::string ToString() const;
};

// Takes regions from the device and divides them. Thread-safe.
// - Memory belongs to a stream or to the host. It may be freed while queued operations still use it: those of its
//   stream, and of streams named by AddUse.
// - Freed memory is reused by the same stream at once, by another stream after making it wait for an event behind the
//   last use, and by the host after that event.
// - Only Allocate with a deadline and ReleaseUnused block, and they hold no lock while they do.
class GpuAllocator {
 public:
  enum class Memory { kDevice, kManaged, kPinned };
  struct Options {
    std::string name = "GPU_0_bfc";
    Memory memory = Memory::kDevice;
    size_t limit = 0;           // maximum bytes of regions; more than 0
    bool allow_growth = false;  // takes regions as needed, rather than all memory with the first allocation
    // Size of the first region if allow_growth; each further one is twice as large.
    size_t first_region = size_t{2} << 20;
    // How long tensor allocations wait for other threads to free memory.
    absl::Duration retry_for = absl::ZeroDuration();
  };

  // `runtime` outlives it.
  GpuAllocator(GpuRuntime* runtime, Options options);
  // All memory must have been freed, and the streams must still exist.
  ~GpuAllocator();

  // Allocates memory, from the pool if the thread has a GpuPoolScope.
  // - `stream` may use the memory in its next operation; nullptr: the host may use it at once.
  // - RESOURCE_EXHAUSTED, after waiting until `deadline` for other threads to free memory, names the node
  //   (GpuAllocationScope) and the largest holders.
  absl::StatusOr<void*> Allocate(size_t bytes, GpuStream* stream, absl::Time deadline = absl::InfinitePast());
  // Declares that operations enqueued on `stream` use it too, until it is freed. `data` may point anywhere into the
  // block.
  void AddUse(void* data, GpuStream* stream);
  // Orders later operations on `stream` after everything enqueued so far on the streams named by AddUse for the block
  // that contains `data`.
  absl::Status AwaitUses(const void* data, GpuStream* stream);
  void Free(void* data);
  // Returns unused regions to the device.
  void ReleaseUnused();

  // For GpuMemoryPool. A pool keeps its blocks until it is closed: freed blocks are reused by later allocations from
  // the pool. `name` is listed among the holders.
  int OpenPool(std::string name);
  // For the next operation of `stream`, the one stream of all of the pool's memory. Does not wait for others to free.
  absl::StatusOr<void*> AllocateFromPool(int pool, size_t bytes, GpuStream* stream);
  // The pool's block that contains `data`; nullptr if it is in none.
  const void* BlockOf(int pool, const void* data);
  struct PoolUse {
    size_t bytes = 0;       // of all blocks
    int blocks_in_use = 0;  // not freed yet
  };
  PoolUse LookAtPool(int pool) const;
  // Releases the pool's free blocks at once, the rest when they are freed.
  void ClosePool(int pool);
  // `reclaim` closes dispensable pools. Called, with no lock held, when pools exist and an allocation outside of them
  // would fail or wait. Set before there are any pools.
  void SetReclaim(std::function<void()> reclaim) { reclaim_ = std::move(reclaim); }

  const Options& options() const { return options_; }
  GpuAllocatorStats Stats() const;
  // The message of the last failed allocation.
  std::string LastFailure() const;
  std::string CheckInvariants() const;

 private:
  static constexpr int kHostUser = -1;
  static constexpr size_t kFewHolders = 4096;
  struct Holder {
    absl::string_view name;  // the key
    size_t bytes = 0;
    int blocks = 0;
  };

  struct Pool {
    std::string name;
    absl::flat_hash_set<uintptr_t> blocks;  // by address
    std::multimap<size_t, uintptr_t> free;  // free members of `blocks`, by size
    size_t bytes = 0;
  };

  // What could make a failed allocation possible.
  struct Remedy {
    bool is_full = false;             // other memory being freed
    std::vector<GpuStream*> streams;  // these reaching their current end
    std::vector<void*> regions;       // returning these, already removed from the arena, to the device
  };
  struct Found {
    BfcArena::ChunkRef ready, waiting;  // the best chunk that needs no wait, and the best that needs one
  };

  int StreamIndex(GpuStream* stream) REQUIRES(mu_);
  absl::StatusOr<void*> AllocateChunk(size_t bytes, GpuStream* stream, absl::Time deadline);
  absl::StatusOr<void*> TryAllocate(size_t bytes, GpuStream* stream, Remedy* remedy) REQUIRES(mu_);
  absl::StatusOr<Found> Find(size_t size, int user) REQUIRES(mu_);
  Found FindAsKnown(size_t size, int user) REQUIRES(mu_);
  Found FindAmongAll(size_t size, int user) REQUIRES(mu_);
  // Whether MakeWait and Watch would succeed for it now.
  bool CanWaitFor(const BfcArena::Chunk& chunk) const REQUIRES(mu_);
  // Makes the stream `user` wait for the chunk's previous uses.
  absl::Status MakeWait(const BfcArena::Chunk& chunk, int user) REQUIRES(mu_);
  // Records events for its uses, and adds the streams to wait for to `remedy`.
  absl::Status Watch(const BfcArena::Chunk& chunk, Remedy* remedy) REQUIRES(mu_);
  void* Give(BfcArena::ChunkRef chunk, size_t size, size_t bytes, int user) REQUIRES(mu_);
  void* TakeFromPool(Pool* pool, size_t size) REQUIRES(mu_);
  void FreeChunk(BfcArena::ChunkRef chunk) REQUIRES(mu_);
  absl::Status Grow(size_t size) REQUIRES(mu_);
  absl::StatusOr<void*> TakeRegion(size_t bytes);
  void ReturnRegion(void* data);
  std::vector<void*> RemoveIdleRegions() REQUIRES(mu_);
  static absl::Status WaitFor(absl::Span<GpuStream* const> streams, absl::Time deadline);
  void Hold(BfcArena::Chunk* chunk) REQUIRES(mu_);
  void ForgetIdleHolders() REQUIRES(mu_);
  absl::Status OutOfMemory(size_t bytes, const absl::Status& cause) REQUIRES(mu_);
  GpuAllocatorStats StatsLocked() const REQUIRES(mu_);

  GpuRuntime* const runtime_;
  const Options options_;
  mutable Mutex mu_;
  std::condition_variable freed_;
  BfcArena arena_ GUARDED_BY(mu_);
  std::deque<StreamTimeline> timelines_ GUARDED_BY(mu_);
  absl::node_hash_map<std::string, Holder> holders_ GUARDED_BY(mu_);
  size_t most_holders_ GUARDED_BY(mu_) = kFewHolders;  // idle holders are dropped beyond this
  size_t next_region_ GUARDED_BY(mu_);
  GpuAllocatorStats stats_ GUARDED_BY(mu_);
  std::string last_failure_ GUARDED_BY(mu_);
  absl::node_hash_map<int, Pool> pools_ GUARDED_BY(mu_);
  absl::flat_hash_map<uintptr_t, int> pool_of_block_ GUARDED_BY(mu_);
  int last_pool_ GUARDED_BY(mu_) = 0;
  std::function<void()> reclaim_;
  std::atomic<int> num_pools_{0};
};

// An allocator for Tensors that are all used on `stream`.
class GpuTensorAllocator : public Allocator {
 public:
  // Both outlive it.
  GpuTensorAllocator(GpuAllocator* allocator, GpuStream* stream) : allocator_(allocator), stream_(stream) {}
  absl::string_view name() const override { return allocator_->options().name; }
  void* AllocateRaw(size_t bytes) override;
  void DeallocateRaw(void* data, size_t bytes) override { allocator_->Free(data); }
  AllocatorStats Stats() const override { return allocator_->Stats(); }
  void ReleaseUnused() override { allocator_->ReleaseUnused(); }
  bool IsHostMemory() const override { return allocator_->options().memory == GpuAllocator::Memory::kPinned; }

 private:
  GpuAllocator* const allocator_;
  GpuStream* const stream_;
};

}  // namespace weir
