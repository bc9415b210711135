#include "kernels/embedding/embedding_table.h"

#include <algorithm>
#include <bit>
#include <condition_variable>
#include <limits>

#include "absl/functional/function_ref.h"
#include "absl/time/clock.h"
#include "core/memory/out_of_memory.h"
#include "kernels/device/parallel.h"

namespace weir {
namespace {

constexpr int kMaxShardBits = 6;
// A shard with a bound has at least so many rows, so that keys which fall unevenly do not matter.
constexpr uint64_t kRowsForShard = 256;
// Of one key, for the choice between one thread and several.
constexpr int64_t kKeyPicoseconds = 150'000;

// Threads that wait for the disk beside the caller, and the keys for which each is worth waking.
constexpr int64_t kDiskThreads = 7, kKeysForThread = 256;
// Part of a shard's memory that a slab takes at most, so that giving one back is a small step.
constexpr int64_t kSlabsForShard = 32;

int ShardBits(const EmbeddingOptions& options) {
  if (options.parts > 0) return 0;
  uint64_t shards = uint64_t{1} << kMaxShardBits;
  if (options.max_element_size > 0) {
    shards = std::min(shards, static_cast<uint64_t>(options.max_element_size) / kRowsForShard);
  }
  if (options.memory_limit_bytes > 0) {
    shards = std::min(shards, static_cast<uint64_t>(options.memory_limit_bytes / EmbeddingOptions::kLeastMemoryLimit));
  }
  return shards == 0 ? 0 : static_cast<int>(std::bit_width(shards)) - 1;
}

// Calls work(i) for each i below n, on this thread and up to `more` others that may block.
void WaitForEach(WorkQueue& queue, int64_t n, int64_t more, absl::FunctionRef<void(int64_t)> work) {
  struct Shared {
    Mutex mu;
    std::condition_variable done;
    int64_t next GUARDED_BY(mu) = 0, running GUARDED_BY(mu) = 0;
  };
  const auto shared = std::make_shared<Shared>();
  // A thread that comes when all have begun does not touch `work`.
  const auto take = [shared, n, work] {
    for (;;) {
      int64_t i;
      {
        MutexLock lock(shared->mu);
        if (shared->next == n) return;
        i = shared->next++;
        ++shared->running;
      }
      work(i);
      MutexLock lock(shared->mu);
      if (--shared->running == 0) shared->done.notify_all();
    }
  };
  for (int64_t i = 0; i < std::min(more, n - 1); ++i) queue.ScheduleBlocking(take);
  take();
  MutexLock lock(shared->mu);
  while (shared->running > 0) lock.Wait(shared->done);
}

}  // namespace

absl::StatusOr<std::shared_ptr<EmbeddingTable>> EmbeddingTable::Create(EmbeddingOptions options, Allocator* allocator) {
  std::unique_ptr<ColdFile> file;
  if (options.memory_limit_bytes > 0) {
    const RowSlabs layout(allocator, RowFormat(options).bytes());
    ASSIGN_OR_RETURN(file,
                     ColdFile::Create(options.storage_path, options.name, ColdRows::BlockBytes(layout.row_bytes())));
  }
  // Not make_shared: the constructor is private.
  return std::shared_ptr<EmbeddingTable>(new EmbeddingTable(std::move(options), allocator, std::move(file)));
}

EmbeddingTable::EmbeddingTable(EmbeddingOptions options, Allocator* allocator, std::unique_ptr<ColdFile> file)
    : options_(std::move(options)), shard_bits_(ShardBits(options_)), file_(std::move(file)) {
  const int64_t shards = options_.parts > 0 ? options_.parts : int64_t{1} << shard_bits_;
  const EmbeddingPresence presence = options_.parts > 0 ? EmbeddingPresence::kAway : EmbeddingPresence::kHere;
  // 0 would be no bound.
  const int64_t max_rows =
      options_.max_element_size == 0 ? 0 : std::max<int64_t>(1, options_.max_element_size / shards);
  EmbeddingStorage storage{.file = file_.get(), .most_bytes = &shard_bytes_};
  if (file_ != nullptr) {
    constexpr int64_t kLeastSlab = 8 << 10;
    storage.largest_slab =
        std::clamp(options_.memory_limit_bytes / shards / kSlabsForShard, kLeastSlab, int64_t{RowSlabs::kLargestSlab});
  }
  for (int64_t i = 0; i < shards; ++i) {
    shards_.push_back(std::make_unique<EmbeddingShard>(options_, allocator, &version_, max_rows,
                                                       options_.filter_counters / shards, presence, storage));
  }
  DivideMemory();
}

void EmbeddingTable::DivideMemory() {
  if (file_ == nullptr) return;
  int64_t here = 0;
  for (const auto& shard : shards_) here += shard->presence() == EmbeddingPresence::kAway ? 0 : 1;
  shard_bytes_.store(options_.memory_limit_bytes / std::max<int64_t>(1, here));
}

std::string EmbeddingTable::DebugString() const {
  const EmbeddingCounts all = counts();
  std::string text = absl::StrCat("EmbeddingTable ", options_.name, " of ", all.size, " keys of width ", options_.width,
                                  ", ", all.bytes, " bytes, ", all.pulled, " keys pulled, ", all.pushed, " pushed");
  if (file_ != nullptr) {
    absl::StrAppend(&text, ", ", all.size - all.cold, " rows in memory, ", all.cold, " on disk, ", all.hits, " hits, ",
                    all.misses, " misses, ", bytes_read(), " bytes read, ", bytes_written(), " written");
  }
  if (options_.parts == 0) return text;
  int64_t here = 0;
  for (const auto& shard : shards_) here += shard->presence() == EmbeddingPresence::kHere ? 1 : 0;
  absl::StrAppend(&text, ", ", here, " of ", options_.parts, " parts");
  return text;
}

int64_t EmbeddingTable::MemoryUsed() const { return counts().bytes; }

EmbeddingCounts EmbeddingTable::counts() const {
  EmbeddingCounts sum;
  for (const auto& shard : shards_) {
    const EmbeddingCounts part = shard->counts();
    sum.size += part.size;
    sum.bytes += part.bytes;
    sum.pulled += part.pulled;
    sum.pushed += part.pushed;
    sum.filtered += part.filtered;
    sum.rejected += part.rejected;
    sum.evicted += part.evicted;
    sum.cold += part.cold;
    sum.hits += part.hits;
    sum.misses += part.misses;
  }
  return sum;
}

absl::StatusOr<std::shared_lock<std::shared_mutex>> EmbeddingTable::Use() const {
  // Callers of an uninitialized table do not delay those that wait for the gate.
  if (is_initialized_.load()) {
    std::shared_lock lock(gate_);
    if (is_initialized_.load()) return lock;
  }
  return errors::FailedPrecondition(
      "Embedding table ", options_.name, " is uninitialized: ",
      is_restoring_.load() ? "its rows are being restored" : "initialize it, or restore it from a checkpoint");
}

absl::Status EmbeddingTable::Initialize() {
  const auto is_being_restored = [this] {
    return errors::Aborted("Embedding table ", options_.name, " is being restored");
  };
  if (is_restoring_.load()) return is_being_restored();
  is_initialized_.store(false);  // sends readers away, who would keep the gate
  barrier_->Abort(errors::Aborted("Embedding table ", options_.name, " was initialized"));
  std::unique_lock lock(gate_);
  if (is_restoring_.load()) return is_being_restored();
  version_.fetch_add(1);
  for (const auto& shard : shards_) shard->Clear();
  is_initialized_.store(true);
  return absl::OkStatus();
}

absl::StatusOr<EmbeddingTable::Grouping> EmbeddingTable::Group(absl::Span<const int64_t> keys) const {
  if (keys.size() > std::numeric_limits<uint32_t>::max()) {
    return errors::InvalidArgument("More keys than an embedding table takes at once: ", keys.size());
  }
  Grouping grouping;
  grouping.positions.resize(keys.size());
  grouping.begin.assign(shards_.size() + 1, 0);
  const int parts = static_cast<int>(options_.parts);
  std::vector<uint16_t> shard_of(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    const uint64_t hash = KeyHash(keys[i]);
    shard_of[i] = static_cast<uint16_t>(parts > 0 ? PartitionOf(hash, parts) : ShardOf(hash, shard_bits_));
    ++grouping.begin[shard_of[i] + 1];
  }
  for (size_t i = 0; i < shards_.size(); ++i) grouping.begin[i + 1] += grouping.begin[i];
  std::vector<size_t> next(grouping.begin.begin(), grouping.begin.end() - 1);
  for (size_t i = 0; i < keys.size(); ++i) grouping.positions[next[shard_of[i]]++] = static_cast<uint32_t>(i);
  return grouping;
}

absl::StatusOr<int64_t> EmbeddingTable::ForShards(OpKernelContext& ctx, int64_t keys,
                                                  const std::function<absl::StatusOr<int64_t>(int)>& work) const {
  const int64_t shards = num_shards();
  Mutex mu;
  absl::Status status;
  int64_t sum = 0;
  const auto work_on = [&](int64_t shard) {
    const absl::StatusOr<int64_t> part = OrOutOfMemory([&] { return work(static_cast<int>(shard)); });
    MutexLock lock(mu);
    if (!part.ok()) status.Update(part.status());
    if (part.ok()) sum += *part;
  };
  if (has_storage()) {
    WaitForEach(*ctx.work_queue(), shards, std::min<int64_t>(keys / kKeysForThread, kDiskThreads), work_on);
  } else {
    const int64_t cost = std::max<int64_t>(1, keys * kKeyPicoseconds / shards);
    ParallelRanges(ctx, shards, cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) work_on(i);
    });
  }
  RETURN_IF_ERROR(status);
  return sum;
}

absl::StatusOr<int64_t> EmbeddingTable::Gather(OpKernelContext& ctx, absl::Span<const int64_t> keys, float* out) {
  ASSIGN_OR_RETURN(const auto use, Use());
  const int64_t version = static_cast<int64_t>(version_.load());
  ASSIGN_OR_RETURN(Grouping groups, Group(keys));
  const auto gather = [&](int shard) -> absl::StatusOr<int64_t> {
    if (!groups.of(shard).empty()) RETURN_IF_ERROR(shards_[shard]->Gather(keys, groups.of(shard), out));
    return 0;
  };
  RETURN_IF_ERROR(ForShards(ctx, static_cast<int64_t>(keys.size()), gather).status());
  return version;
}

absl::StatusOr<int64_t> EmbeddingTable::Update(OpKernelContext& ctx, const EmbeddingUpdate& update) {
  ASSIGN_OR_RETURN(const auto use, Use());
  ASSIGN_OR_RETURN(Grouping groups, Group(update.keys));
  version_.fetch_add(1);
  if (options_.seconds_to_live == 0 && update.now > latest_step_.load()) latest_step_.store(update.now);
  return ForShards(ctx, static_cast<int64_t>(update.keys.size()), [&](int shard) -> absl::StatusOr<int64_t> {
    return groups.of(shard).empty() ? int64_t{0} : shards_[shard]->Update(update, groups.of(shard));
  });
}

absl::StatusOr<int64_t> EmbeddingTable::Remove(OpKernelContext& ctx, absl::Span<const int64_t> keys) {
  ASSIGN_OR_RETURN(const auto use, Use());
  ASSIGN_OR_RETURN(Grouping groups, Group(keys));
  version_.fetch_add(1);
  return ForShards(ctx, static_cast<int64_t>(keys.size()), [&](int shard) -> absl::StatusOr<int64_t> {
    return shards_[shard]->Remove(keys, groups.of(shard));
  });
}

absl::StatusOr<int64_t> EmbeddingTable::EvictExpired(OpKernelContext& ctx, uint32_t now) {
  ASSIGN_OR_RETURN(const auto use, Use());
  if (!options_.expires()) return int64_t{0};
  version_.fetch_add(1);
  return ForShards(ctx, counts().size,
                   [&](int shard) -> absl::StatusOr<int64_t> { return shards_[shard]->EvictExpired(now); });
}

absl::StatusOr<uint32_t> EmbeddingTable::Now(int64_t step) const {
  const int64_t now = options_.seconds_to_live > 0 ? absl::ToUnixSeconds(absl::Now()) : step;
  if (now >= 0 && now <= std::numeric_limits<uint32_t>::max()) return static_cast<uint32_t>(now);
  return errors::InvalidArgument("global_step must be in [0, 2**32), got ", step);
}

}  // namespace weir
