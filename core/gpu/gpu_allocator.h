// Memory of a GPU, or pinned memory for copies to it, in the order of streams.
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
#include "core/allocator.h"
#include "core/gpu/bfc_arena.h"
#include "core/gpu/stream_timeline.h"
#include "core/mutex.h"

namespace weir {

// Names the node on whose behalf this thread allocates, for messages. `name` outlives it. Scopes nest.
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
  int64_t num_waits = 0;       // streams made to wait for another's use of memory
  int64_t num_retries = 0;     // allocations that had to wait for memory
  int64_t bytes_in_pools = 0;  // of those in use: what captured graphs keep
  int64_t num_pools = 0;
  // Share of the free reserved memory that lies outside of the largest free block, 0 to 1.
  double fragmentation = 0;

  std::string ToString() const;
};

// Takes regions from the device and divides them. Thread-safe.
//
// Memory is for a stream, or for the host. It can be freed while operations that use it are still queued: those of the
// stream that it is for, and of those named by AddUse. It is given at once to the same stream again; to another one,
// after that stream was made to wait for an event behind the last use; to the host, when that event is over. No call
// blocks but Allocate with a deadline and ReleaseUnused, and those hold no lock meanwhile.
class GpuAllocator {
 public:
  enum class Memory { kDevice, kManaged, kPinned };
  struct Options {
    std::string name = "GPU_0_bfc";
    Memory memory = Memory::kDevice;
    size_t limit = 0;           // bytes of regions, at most; more than 0
    bool allow_growth = false;  // regions are taken as they are needed, not all memory with the first allocation
    // The first region of an allocator that grows; further ones are twice as large each.
    size_t first_region = size_t{2} << 20;
    // How long Tensor's allocations wait for memory that other threads free.
    absl::Duration retry_for = absl::ZeroDuration();
  };

  // `runtime` outlives it.
  GpuAllocator(GpuRuntime* runtime, Options options);
  // Everything has been freed, and the streams still exist.
  ~GpuAllocator();

  // On a thread that has a GpuPoolScope: memory of its pool. `stream` may use the memory in its next operation;
  // nullptr: the host may, at once. RESOURCE_EXHAUSTED, after waiting until `deadline` for memory that others free,
  // names the node (GpuAllocationScope) and the largest holders.
  absl::StatusOr<void*> Allocate(size_t bytes, GpuStream* stream, absl::Time deadline = absl::InfinitePast());
  // Operations enqueued on `stream` use it too, up to when it is freed. `data` may point anywhere into the block.
  void AddUse(void* data, GpuStream* stream);
  // What follows on `stream` comes after all that streams named by AddUse, for the block that `data` points into, have
  // enqueued by now.
  absl::Status AwaitUses(const void* data, GpuStream* stream);
  void Free(void* data);
  // Gives regions that nobody uses back to the device.
  void ReleaseUnused();

  // Pools, for GpuMemoryPool. The blocks of one stay its own until it is closed: what is freed meanwhile goes to
  // whoever allocates from it next. Its `name` is listed among the holders.
  int OpenPool(std::string name);
  // For the next operation of `stream`, which is that of all of the pool's memory. Does not wait for others to free.
  absl::StatusOr<void*> AllocateFromPool(int pool, size_t bytes, GpuStream* stream);
  // The block of the pool that `data` lies in; nullptr where it is none of its.
  const void* BlockOf(int pool, const void* data);
  struct PoolUse {
    size_t bytes = 0;       // of all blocks
    int blocks_in_use = 0;  // of those that were not freed
  };
  PoolUse LookAtPool(int pool) const;
  // What is free in it becomes everybody's at once, the rest when it is freed.
  void ClosePool(int pool);
  // `reclaim` closes pools that can be done without, if it can. Called, with no lock held, where there are pools and an
  // allocation outside of them would be refused or wait. Set before there are any.
  void SetReclaim(std::function<void()> reclaim) { reclaim_ = std::move(reclaim); }

  const Options& options() const { return options_; }
  GpuAllocatorStats Stats() const;
  // What the last failed allocation was told.
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
    std::multimap<size_t, uintptr_t> free;  // those of `blocks` that may be given again, by size
    size_t bytes = 0;
  };

  // What could make an allocation possible that has failed.
  struct Remedy {
    bool is_full = false;             // memory that is freed
    std::vector<GpuStream*> streams;  // that these come to where they are now
    std::vector<void*> regions;       // that these, which are out of the arena, go back to the device
  };
  struct Found {
    BfcArena::ChunkRef ready, waiting;  // the best chunk that needs no wait; the best that needs one
  };

  int StreamIndex(GpuStream* stream) REQUIRES(mu_);
  absl::StatusOr<void*> AllocateChunk(size_t bytes, GpuStream* stream, absl::Time deadline);
  absl::StatusOr<void*> TryAllocate(size_t bytes, GpuStream* stream, Remedy* remedy) REQUIRES(mu_);
  absl::StatusOr<Found> Find(size_t size, int user) REQUIRES(mu_);
  Found FindAsKnown(size_t size, int user) REQUIRES(mu_);
  Found FindAmongAll(size_t size, int user) REQUIRES(mu_);
  // Whether MakeWait and Watch can be done for it now.
  bool CanWaitFor(const BfcArena::Chunk& chunk) const REQUIRES(mu_);
  // Makes the stream `user` wait for what others did there.
  absl::Status MakeWait(const BfcArena::Chunk& chunk, int user) REQUIRES(mu_);
  // Asks for events by which to hear of its uses, and for the streams to wait for.
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
  size_t most_holders_ GUARDED_BY(mu_) = kFewHolders;  // before idle ones are forgotten
  size_t next_region_ GUARDED_BY(mu_);
  GpuAllocatorStats stats_ GUARDED_BY(mu_);
  std::string last_failure_ GUARDED_BY(mu_);
  absl::node_hash_map<int, Pool> pools_ GUARDED_BY(mu_);
  absl::flat_hash_map<uintptr_t, int> pool_of_block_ GUARDED_BY(mu_);
  int last_pool_ GUARDED_BY(mu_) = 0;
  std::function<void()> reclaim_;
  std::atomic<int> num_pools_{0};
};

// For Tensors: memory for one stream, which is `stream` for all of them.
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
