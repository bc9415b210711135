#include "core/gpu/gpu_allocator.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "core/clock.h"
#include "core/gpu/gpu_memory_pool.h"
#include "core/logging.h"

namespace weir {
namespace {

thread_local absl::string_view allocation_scope;

constexpr int kListedHolders = 5;

std::string Readable(double bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  for (; bytes >= 1024 && unit < 4; ++unit) bytes /= 1024;
  return absl::StrFormat("%.4g%s", bytes, kUnits[unit]);
}

}  // namespace

GpuAllocationScope::GpuAllocationScope(absl::string_view name) : before_(allocation_scope) { allocation_scope = name; }
GpuAllocationScope::~GpuAllocationScope() { allocation_scope = before_; }

std::string GpuAllocatorStats::ToString() const {
  const std::string kept =
      num_pools == 0 ? ""
                     : absl::StrFormat(", of which %d captured graphs keep %s", num_pools, Readable(bytes_in_pools));
  return absl::StrFormat(
      "%s in use (peak %s)%s of %s reserved in %d regions, limit %s; largest free block %s, "
      "fragmentation %.0f%%, %d waits between streams, %d retries",
      Readable(bytes_in_use), Readable(peak_bytes_in_use), kept, Readable(bytes_reserved), num_regions,
      Readable(bytes_limit), Readable(largest_free_block), 100 * fragmentation, num_waits, num_retries);
}

GpuAllocator::GpuAllocator(GpuRuntime* runtime, Options options)
    : runtime_(runtime), options_(std::move(options)), next_region_(options_.first_region) {}

GpuAllocator::~GpuAllocator() {
  if (arena_.bytes_in_use() > 0) {
    WEIR_LOG(ERROR).With("allocator", options_.name)
        << arena_.bytes_in_use() << " bytes are still in use where the allocator ends";
  }
  for (void* region : arena_.Regions()) ReturnRegion(region);
}

int GpuAllocator::StreamIndex(GpuStream* stream) {
  if (stream == nullptr) return kHostUser;
  for (size_t i = 0; i < timelines_.size(); ++i) {
    if (timelines_[i].stream() == stream) return static_cast<int>(i);
  }
  timelines_.emplace_back(stream);
  return static_cast<int>(timelines_.size()) - 1;
}

absl::StatusOr<void*> GpuAllocator::Allocate(size_t bytes, GpuStream* stream, absl::Time deadline) {
  if (GpuMemoryPool* pool = GpuPoolScope::Current(*this)) return pool->Allocate(bytes);
  if (num_pools_.load(std::memory_order_relaxed) > 0 && reclaim_ != nullptr) {
    absl::StatusOr<void*> data = AllocateChunk(bytes, stream, absl::InfinitePast());
    if (!absl::IsResourceExhausted(data.status())) return data;
    reclaim_();
  }
  return AllocateChunk(bytes, stream, deadline);
}

absl::StatusOr<void*> GpuAllocator::AllocateChunk(size_t bytes, GpuStream* stream, absl::Time deadline) {
  for (bool first = true;; first = false) {
    Remedy remedy;
    absl::StatusOr<void*> data;
    {
      MutexLock lock(mu_);
      data = TryAllocate(bytes, stream, &remedy);
      if (data.ok() || (!remedy.is_full && remedy.streams.empty())) return data;
      if (remedy.regions.empty()) {
        if (MonotonicNow() >= deadline) return data;
        if (first) ++stats_.num_retries;
        if (remedy.streams.empty()) {
          if (arena_.bytes_in_use() == 0) return data;  // nothing can be freed
          lock.WaitUntil(freed_, ToSteady(std::min(deadline, MonotonicNow() + absl::Seconds(1))));
        }
      }
    }
    for (void* region : remedy.regions) ReturnRegion(region);
    if (const absl::Status waited = WaitFor(remedy.streams, deadline); !waited.ok()) {
      return absl::IsDeadlineExceeded(waited) ? data.status() : waited;
    }
  }
}

absl::Status GpuAllocator::WaitFor(absl::Span<GpuStream* const> streams, absl::Time deadline) {
  for (GpuStream* stream : streams) {
    ASSIGN_OR_RETURN(const std::unique_ptr<GpuEvent> event, stream->runtime()->CreateEvent());
    RETURN_IF_ERROR(stream->Record(event.get()));
    RETURN_IF_ERROR(event->Synchronize(deadline));
  }
  return absl::OkStatus();
}

absl::StatusOr<void*> GpuAllocator::TryAllocate(size_t bytes, GpuStream* stream, Remedy* remedy) {
  if (stream != nullptr && stream->IsCapturing()) {
    return errors::FailedPrecondition("Allocation of ", bytes, " bytes for '", allocation_scope, "' while stream '",
                                      stream->name(), "' captures: allocate before the capture");
  }
  if (bytes > options_.limit) return OutOfMemory(bytes, absl::OkStatus());
  const size_t size = BfcArena::RoundUp(std::max<size_t>(bytes, 1));
  const int user = StreamIndex(stream);
  ASSIGN_OR_RETURN(Found found, Find(size, user));
  // A stream waits rather than take more memory; the host takes more memory rather than wait.
  const bool nothing_fits = found.ready == arena_.end() && found.waiting == arena_.end();
  if (nothing_fits && user != kHostUser) found = FindAmongAll(size, user);
  if (found.ready != arena_.end()) return Give(found.ready, size, bytes, user);
  if (found.waiting == arena_.end() || user == kHostUser) {
    const absl::Status grown = Grow(size);
    if (grown.ok()) {
      ASSIGN_OR_RETURN(found, Find(size, user));
      if (found.ready != arena_.end()) return Give(found.ready, size, bytes, user);
    }
    if (grown.ok()) return errors::Internal(options_.name, " cannot use memory that it has just taken");
    if (!absl::IsResourceExhausted(grown)) return grown;
    if (user == kHostUser) found = FindAmongAll(size, user);
    if (found.ready != arena_.end()) return Give(found.ready, size, bytes, user);
    if (found.waiting == arena_.end()) {
      remedy->is_full = true;
      remedy->regions = RemoveIdleRegions();
    } else {
      RETURN_IF_ERROR(Watch(found.waiting->second, remedy));
    }
    return OutOfMemory(bytes, grown);
  }
  RETURN_IF_ERROR(MakeWait(found.waiting->second, user));
  return Give(found.waiting, size, bytes, user);
}

absl::StatusOr<GpuAllocator::Found> GpuAllocator::Find(size_t size, int user) {
  Found found = FindAsKnown(size, user);
  if (found.ready != arena_.end()) return found;
  for (StreamTimeline& timeline : timelines_) RETURN_IF_ERROR(timeline.Poll());
  arena_.Settle([&](const BfcArena::Use& use) REQUIRES(mu_) { return timelines_[use.stream].HasPassed(use.position); });
  return FindAsKnown(size, user);
}

// If no chunk is large enough, neighbours still in use by other streams may be so when joined.
GpuAllocator::Found GpuAllocator::FindAmongAll(size_t size, int user) {
  arena_.JoinAll();
  return FindAsKnown(size, user);
}

GpuAllocator::Found GpuAllocator::FindAsKnown(size_t size, int user) {
  Found found{arena_.end(), arena_.end()};
  found.ready = arena_.FindFree(size, [&](BfcArena::ChunkRef chunk) REQUIRES(mu_) {
    const auto& uses = chunk->second.uses;
    const bool is_ready = std::all_of(uses.begin(), uses.end(), [&](const BfcArena::Use& use) REQUIRES(mu_) {
      return use.stream == user || timelines_[use.stream].HasPassed(use.position);
    });
    if (!is_ready && found.waiting == arena_.end() && CanWaitFor(chunk->second)) found.waiting = chunk;
    return is_ready;
  });
  return found;
}

void* GpuAllocator::Give(BfcArena::ChunkRef chunk, size_t size, size_t bytes, int user) {
  arena_.Take(chunk, size, bytes);
  chunk->second.uses.clear();
  chunk->second.owner = user;
  Hold(&chunk->second);
  ++stats_.num_allocs;
  stats_.largest_alloc_size = std::max<int64_t>(stats_.largest_alloc_size, size);
  stats_.peak_bytes_in_use = std::max<int64_t>(stats_.peak_bytes_in_use, arena_.bytes_in_use());
  return reinterpret_cast<void*>(chunk->first);
}

// A stream that is capturing records no event for its earlier work until the capture ends.
bool GpuAllocator::CanWaitFor(const BfcArena::Chunk& chunk) const {
  return std::all_of(chunk.uses.begin(), chunk.uses.end(), [&](const BfcArena::Use& use) REQUIRES(mu_) {
    return timelines_[use.stream].CanCover(use.position);
  });
}

absl::Status GpuAllocator::MakeWait(const BfcArena::Chunk& chunk, int user) {
  for (const BfcArena::Use& use : chunk.uses) {
    if (use.stream == user || timelines_[use.stream].HasPassed(use.position)) continue;
    RETURN_IF_ERROR(timelines_[use.stream].MakeWait(timelines_[user].stream(), use.position));
    ++stats_.num_waits;
  }
  return absl::OkStatus();
}

absl::Status GpuAllocator::Watch(const BfcArena::Chunk& chunk, Remedy* remedy) {
  for (const BfcArena::Use& use : chunk.uses) {
    RETURN_IF_ERROR(timelines_[use.stream].Cover(use.position));
    remedy->streams.push_back(timelines_[use.stream].stream());
  }
  return absl::OkStatus();
}

absl::Status GpuAllocator::Grow(size_t size) {
  const size_t available =
      (options_.limit - std::min(options_.limit, arena_.bytes_in_regions())) / BfcArena::kGranule * BfcArena::kGranule;
  if (size > available) return errors::ResourceExhausted("the limit is reached");
  size_t bytes =
      options_.allow_growth ? std::min(available, BfcArena::RoundUp(std::max(next_region_, size))) : available;
  while (true) {
    absl::StatusOr<void*> region = TakeRegion(bytes);
    if (region.ok()) {
      arena_.AddRegion(*region, bytes);
      next_region_ = std::max(next_region_, std::min(bytes, options_.limit / 2) * 2);
      return absl::OkStatus();
    }
    // The device has less free memory than the limit: try nine tenths, repeatedly, down to the requested size.
    const size_t less = BfcArena::RoundUp(bytes / 10 * 9);
    if (!absl::IsResourceExhausted(region.status()) || less < size || less == bytes) return region.status();
    bytes = less;
  }
}

absl::StatusOr<void*> GpuAllocator::TakeRegion(size_t bytes) {
  switch (options_.memory) {
    case Memory::kDevice:
      return runtime_->AllocateDevice(bytes);
    case Memory::kManaged:
      return runtime_->AllocateManaged(bytes);
    default:
      return runtime_->AllocatePinned(bytes);
  }
}

void GpuAllocator::ReturnRegion(void* data) {
  const absl::Status status =
      options_.memory == Memory::kPinned ? runtime_->FreePinned(data) : runtime_->FreeDevice(data);
  if (!status.ok()) {
    WEIR_LOG_EVERY(WARNING, absl::Seconds(10)).With("allocator", options_.name)
        << "failed to release memory: " << status.message();
  }
}

std::vector<void*> GpuAllocator::RemoveIdleRegions() {
  std::vector<void*> regions;
  arena_.JoinAll();
  for (const auto& [data, bytes] : arena_.IdleRegions()) {
    arena_.RemoveRegion(data);
    regions.push_back(data);
  }
  return regions;
}

// The device waits for all streams before it releases a region, so their work there is complete.
void GpuAllocator::ReleaseUnused() {
  std::vector<void*> regions;
  {
    MutexLock lock(mu_);
    regions = RemoveIdleRegions();
  }
  for (void* region : regions) ReturnRegion(region);
}

void GpuAllocator::Hold(BfcArena::Chunk* chunk) {
  if (holders_.size() >= most_holders_) ForgetIdleHolders();
  const auto [it, added] = holders_.try_emplace(allocation_scope);
  if (added) it->second.name = it->first;
  it->second.bytes += chunk->size;
  ++it->second.blocks;
  chunk->holder = &it->second;
}

// The same names recur in each step, so they are kept until there are many.
void GpuAllocator::ForgetIdleHolders() {
  absl::erase_if(holders_, [](const auto& entry) { return entry.second.blocks == 0; });
  most_holders_ = std::max(kFewHolders, 2 * holders_.size());  // not in proportion to allocations if many hold memory
}

void GpuAllocator::AddUse(void* data, GpuStream* stream) {
  MutexLock lock(mu_);
  const auto chunk = arena_.FindInUse(data);
  const int user = StreamIndex(stream);
  if (chunk == arena_.end() || user == kHostUser || user == chunk->second.owner) return;
  auto& users = chunk->second.other_users;
  if (std::find(users.begin(), users.end(), user) == users.end()) users.push_back(user);
}

absl::Status GpuAllocator::AwaitUses(const void* data, GpuStream* stream) {
  MutexLock lock(mu_);
  const auto chunk = arena_.FindInUse(data);
  if (chunk == arena_.end()) return absl::OkStatus();
  for (const int user : chunk->second.other_users) {
    StreamTimeline& timeline = timelines_[user];
    if (timeline.stream() == stream) continue;
    RETURN_IF_ERROR(timeline.MakeWait(stream, timeline.Mark()));
    ++stats_.num_waits;
  }
  return absl::OkStatus();
}

void GpuAllocator::Free(void* data) {
  if (data == nullptr) return;
  MutexLock lock(mu_);
  const auto chunk = arena_.FindInUse(data);
  if (chunk == arena_.end()) {
    WEIR_LOG(ERROR).With("allocator", options_.name) << "double free or unknown pointer";
    return;
  }
  if (const auto block = pool_of_block_.find(chunk->first); block != pool_of_block_.end()) {
    pools_.at(block->second).free.emplace(chunk->second.size, chunk->first);
    return;
  }
  FreeChunk(chunk);
}

void GpuAllocator::FreeChunk(BfcArena::ChunkRef chunk) {
  auto* const holder = static_cast<Holder*>(std::exchange(chunk->second.holder, nullptr));
  holder->bytes -= chunk->second.size;
  --holder->blocks;
  if (chunk->second.owner != kHostUser) chunk->second.other_users.push_back(chunk->second.owner);
  for (const int user : chunk->second.other_users) chunk->second.uses.push_back({user, timelines_[user].Mark()});
  arena_.Free(chunk);
  freed_.notify_all();
}

int GpuAllocator::OpenPool(std::string name) {
  MutexLock lock(mu_);
  pools_[++last_pool_].name = std::move(name);
  num_pools_.fetch_add(1, std::memory_order_relaxed);
  return last_pool_;
}

absl::StatusOr<void*> GpuAllocator::AllocateFromPool(int pool, size_t bytes, GpuStream* stream) {
  absl::string_view name;
  {
    MutexLock lock(mu_);
    Pool& found = pools_.at(pool);
    if (void* data = TakeFromPool(&found, BfcArena::RoundUp(std::max<size_t>(bytes, 1)))) return data;
    name = found.name;
  }
  const GpuAllocationScope scope(name);
  ASSIGN_OR_RETURN(void* const data, AllocateChunk(bytes, stream, absl::InfinitePast()));
  MutexLock lock(mu_);
  const auto chunk = arena_.FindInUse(data);
  Pool& found = pools_.at(pool);
  found.blocks.insert(chunk->first);
  found.bytes += chunk->second.size;
  pool_of_block_[chunk->first] = pool;
  return data;
}

// Blocks are not split: one that is much larger is left for a larger tensor.
void* GpuAllocator::TakeFromPool(Pool* pool, size_t size) {
  const auto block = pool->free.lower_bound(size);
  if (block == pool->free.end() || block->first > 2 * size) return nullptr;
  const uintptr_t address = block->second;
  pool->free.erase(block);
  return reinterpret_cast<void*>(address);
}

const void* GpuAllocator::BlockOf(int pool, const void* data) {
  MutexLock lock(mu_);
  const auto chunk = arena_.FindInUse(data);
  if (chunk == arena_.end()) return nullptr;
  const auto block = pool_of_block_.find(chunk->first);
  return block != pool_of_block_.end() && block->second == pool ? reinterpret_cast<const void*>(chunk->first) : nullptr;
}

GpuAllocator::PoolUse GpuAllocator::LookAtPool(int pool) const {
  MutexLock lock(mu_);
  const Pool& found = pools_.at(pool);
  return {.bytes = found.bytes, .blocks_in_use = static_cast<int>(found.blocks.size() - found.free.size())};
}

void GpuAllocator::ClosePool(int pool) {
  MutexLock lock(mu_);
  const auto found = pools_.find(pool);
  for (const uintptr_t address : found->second.blocks) pool_of_block_.erase(address);
  for (const auto& [size, address] : found->second.free) {
    FreeChunk(arena_.FindInUse(reinterpret_cast<const void*>(address)));
  }
  pools_.erase(found);
  num_pools_.fetch_sub(1, std::memory_order_relaxed);
}

absl::Status GpuAllocator::OutOfMemory(size_t bytes, const absl::Status& cause) {
  std::vector<const Holder*> holders;
  for (const auto& [name, holder] : holders_) {
    if (holder.blocks > 0) holders.push_back(&holder);
  }
  const size_t listed = std::min<size_t>(kListedHolders, holders.size());
  std::partial_sort(holders.begin(), holders.begin() + listed, holders.end(),
                    [](const Holder* a, const Holder* b) { return a->bytes > b->bytes; });
  const auto name = [](absl::string_view scope) { return scope.empty() ? "(no node)" : scope; };
  last_failure_ = absl::StrCat(options_.name, " has no ", Readable(bytes), " for node '", name(allocation_scope),
                               "': ", StatsLocked().ToString());
  if (GpuAllocatorStats stats = StatsLocked();
      stats.bytes_reserved - stats.bytes_in_use >= static_cast<int64_t>(bytes)) {
    absl::StrAppend(&last_failure_, "; enough is free, but not in one piece");
  }
  absl::StrAppend(&last_failure_, "; largest holders:");
  for (size_t i = 0; i < listed; ++i) {
    absl::StrAppend(&last_failure_, i == 0 ? " '" : ", '", name(holders[i]->name), "' ", Readable(holders[i]->bytes),
                    " in ", holders[i]->blocks, " blocks");
  }
  if (listed == 0) absl::StrAppend(&last_failure_, " none");
  if (!cause.ok()) absl::StrAppend(&last_failure_, "; ", cause.message());
  return errors::ResourceExhausted(last_failure_);
}

GpuAllocatorStats GpuAllocator::StatsLocked() const {
  GpuAllocatorStats stats = stats_;
  stats.bytes_in_use = arena_.bytes_in_use();
  stats.bytes_limit = options_.limit;
  stats.bytes_reserved = arena_.bytes_in_regions();
  stats.num_regions = arena_.num_regions();
  stats.largest_free_block = arena_.largest_free();
  stats.num_pools = static_cast<int64_t>(pools_.size());
  for (const auto& [id, pool] : pools_) stats.bytes_in_pools += static_cast<int64_t>(pool.bytes);
  const int64_t free = stats.bytes_reserved - stats.bytes_in_use;
  if (free > 0) stats.fragmentation = 1 - static_cast<double>(stats.largest_free_block) / free;
  return stats;
}

GpuAllocatorStats GpuAllocator::Stats() const {
  MutexLock lock(mu_);
  return StatsLocked();
}

std::string GpuAllocator::LastFailure() const {
  MutexLock lock(mu_);
  return last_failure_;
}

std::string GpuAllocator::CheckInvariants() const {
  MutexLock lock(mu_);
  return arena_.CheckInvariants();
}

void* GpuTensorAllocator::AllocateRaw(size_t bytes) {
  const absl::Duration patience = allocator_->options().retry_for;
  absl::StatusOr<void*> data = allocator_->Allocate(
      bytes, stream_, patience > absl::ZeroDuration() ? MonotonicNow() + patience : absl::InfinitePast());
  return data.ok() ? *data : nullptr;
}

}  // namespace weir
