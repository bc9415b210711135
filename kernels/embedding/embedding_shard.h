// One part of an embedding table, with a lock of its own.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "core/mutex.h"
#include "core/tensor/tensor.h"
#include "kernels/embedding/admission_filter.h"
#include "kernels/embedding/cold_rows.h"
#include "kernels/embedding/embedding_options.h"
#include "kernels/embedding/key_hash.h"
#include "kernels/embedding/row_format.h"
#include "kernels/embedding/row_slabs.h"
#include "kernels/training/cpu_training.h"

namespace weir {

// What happens where several write one row. For gradients of one push, "sum" and "reject" add up duplicates, and
// "last_writer" takes the last one.
enum class ConflictPolicy {
  kSum,         // everything counts
  kLastWriter,  // the last one counts
  kReject,      // pushes that saw the row before its last `staleness_bound` versions fail
};

// One batch of changes.
struct EmbeddingUpdate {
  absl::Span<const int64_t> keys;
  const float* rows = nullptr;  // gradients, or values where there is no rule
  RuleLoop rule = nullptr;
  RuleArgs args;
  ConflictPolicy policy = ConflictPolicy::kSum;
  int64_t staleness_bound = 0;
  int64_t version = -1;  // of the table, when the rows were read that this was computed from; -1: not known
  uint32_t now = 0;      // step or second
};

// Rows as they leave a table and come back. Vectors of one length, and matrices with as many rows.
struct EmbeddingRows {
  Tensor keys, values, slots, versions, freqs, used;
  std::vector<int64_t> removed;  // since an earlier export

  uint64_t LatestVersion() const;
};

// Whether a shard that is a part of a divided table is on this task. Rows are read here and at kLeaving, and changed
// here alone.
enum class EmbeddingPresence {
  kHere,
  kAway,
  kArriving,  // rows come in; none is requested yet
  kLeaving    // the last rows have been sent: it goes, or stays if the move fails
};

struct EmbeddingCounts {
  int64_t size = 0, bytes = 0, pulled = 0, pushed = 0, filtered = 0, rejected = 0, evicted = 0;
  // Rows on disk, and how often a row that was pulled or pushed was in memory or on disk.
  int64_t cold = 0, hits = 0, misses = 0;
};

// Where a shard's rows go that do not fit into memory.
struct EmbeddingStorage {
  ColdFile* file = nullptr;                          // nullptr: all rows stay in memory; outlives the shard
  const std::atomic<int64_t>* most_bytes = nullptr;  // of memory, for the shard
  int64_t largest_slab = RowSlabs::kLargestSlab;
};

// Thread-safe. `clock` is the table's version; a row that changes is marked with it while the lock is held, so that an
// export that has passed over this shard knows what changed since by the version alone. The lock is not held while rows
// of a pull, a push or an export are read from disk; it is while rows are written there.
class EmbeddingShard {
 public:
  EmbeddingShard(const EmbeddingOptions& options, Allocator* allocator, const std::atomic<uint64_t>* clock,
                 int64_t max_rows, int64_t filter_counters, EmbeddingPresence presence,
                 const EmbeddingStorage& storage);

  // What reads and changes rows is ABORTED while the shard is elsewhere.

  // out[i * width …] = values of keys[i], for i in positions.
  absl::Status Gather(absl::Span<const int64_t> keys, absl::Span<const uint32_t> positions, float* out);
  // Applies update.keys[i] for i in positions, which are sorted here. Returns the number of rejected keys.
  absl::StatusOr<int64_t> Update(const EmbeddingUpdate& update, absl::Span<uint32_t> positions);
  absl::StatusOr<int64_t> Remove(absl::Span<const int64_t> keys, absl::Span<const uint32_t> positions);
  // Removes what has not been used for longer than it may live.
  absl::StatusOr<int64_t> EvictExpired(uint32_t now);
  void Clear();

  // Rows that changed after version `since`, all with -1; this export is the table's `version`. From the first one on,
  // removals are remembered until an export names a later version. FailedPrecondition where changes are not known. A
  // shard that is elsewhere has no rows. With `keep_removals`, those before `since` stay remembered, for somebody else
  // who asks for changes too.
  absl::StatusOr<EmbeddingRows> Export(int64_t since, uint64_t version, bool keep_removals, Allocator* allocator);
  // Overwrites rows; their versions come along, by which an export of changes would pass them over: none is possible
  // until RememberRemovals or an export of all rows. The tensors fit together.
  absl::Status Import(const EmbeddingRows& rows, absl::Span<const uint32_t> positions);
  // Remembers removals from `version` on, and no others.
  void RememberRemovals(uint64_t version);
  // Whether removals since this version are known.
  bool KnowsRemovalsSince(int64_t version) const;

  EmbeddingCounts counts() const;
  // Writes rows to disk that are beyond the memory limit, where that has become less.
  absl::Status FitMemory();

  // A move to another task. `move` names it: what is of another one does not count.

  EmbeddingPresence presence() const;
  // As Export. The last one, of `freeze`, begins kLeaving.
  absl::StatusOr<EmbeddingRows> Send(int64_t since, uint64_t version, std::optional<int64_t> freeze,
                                     Allocator* allocator);
  // Ends kLeaving of this move.
  void Stay(int64_t move);
  // Removes `removed`, then takes rows.keys[i] for i in positions. The first one (`begin`) drops what came by another
  // move; AlreadyExists where the shard is here.
  absl::Status Receive(int64_t move, bool begin, const EmbeddingRows& rows, absl::Span<const uint32_t> positions,
                       absl::Span<const uint32_t> removed);
  absl::Status Adopt(int64_t move);
  // Whether it is here from now on. One that is not there yet becomes empty where `create`, else ABORTED.
  absl::Status Own(bool is_here, bool create);
  // Of the filter: [counters…, how much they have counted].
  std::vector<int64_t> FilterState() const;
  absl::Status SetFilterState(absl::Span<const int64_t> state);

 private:
  // A row's place: its number in slabs_, or kCold and its number in cold_.
  using Place = uint32_t;
  static constexpr Place kCold = Place{1} << 31;
  static bool IsCold(Place place) { return (place & kCold) != 0; }

  // Finds the key of a place.
  struct KeyOf {
    int64_t operator()(Place place) const { return IsCold(place) ? cold->key(place & ~kCold) : slabs->info(place).key; }
    const RowSlabs* slabs;
    const ColdRows* cold;
  };
  struct RowHash {
    using is_transparent = void;
    size_t operator()(int64_t key) const { return KeyHash(key); }
    size_t operator()(Place place) const { return KeyHash(key_of(place)); }
    KeyOf key_of;
  };
  struct RowEqual {
    using is_transparent = void;
    bool operator()(Place a, Place b) const { return a == b; }
    bool operator()(Place place, int64_t key) const { return key_of(place) == key; }
    bool operator()(int64_t key, Place place) const { return key_of(place) == key; }
    KeyOf key_of;
  };
  struct Removal {
    int64_t key;
    uint64_t version;
  };
  using Index = absl::flat_hash_set<Place, RowHash, RowEqual>;
  // Rows that are read from disk without the lock.
  struct ColdReads {
    std::vector<ColdRows::Read> reads;
    std::vector<uint32_t> positions;  // for a pull: where reads[i] goes; reads keep their order in `buffer`
    std::vector<char> buffer;
  };
  // What an export takes from disk after it has left the lock.
  struct ColdCopy {
    struct Part {
      std::shared_ptr<const ColdRows::Block> block;
      std::vector<uint64_t> live;  // its rows, when the export began
    };
    std::vector<Part> parts;
    int64_t hot = 0;  // rows that are copied already
  };

  absl::Status CheckHere() const REQUIRES(mu_);
  absl::Status CheckUnfrozen() const REQUIRES(mu_);
  void Empty() REQUIRES(mu_);
  // Copies rows in memory, with room for those on disk, which FinishCopy appends without the lock.
  absl::StatusOr<EmbeddingRows> Copy(int64_t since, uint64_t version, bool keep_removals, Allocator* allocator,
                                     ColdCopy* cold) REQUIRES(mu_);
  absl::Status FinishCopy(int64_t since, const ColdCopy& cold, EmbeddingRows* rows) const;
  absl::Status Allocate(int64_t n, Allocator* allocator, EmbeddingRows* rows) const;
  void CopyRow(const EmbeddingRowInfo& info, const char* data, int64_t i, EmbeddingRows* rows) const;
  bool KnowsSince(int64_t version) const REQUIRES(mu_);
  absl::Status Take(const EmbeddingRows& rows, absl::Span<const uint32_t> positions) REQUIRES(mu_);
  bool Expired(const EmbeddingRowInfo& info, uint32_t now) const;
  // A new row with this key and undefined values.
  absl::StatusOr<RowSlabs::Id> AddRow(int64_t key) REQUIRES(mu_);
  void RemoveRow(Place place) REQUIRES(mu_);
  // The key's row in memory, made where it is let in; nullopt where it is not.
  absl::StatusOr<std::optional<RowSlabs::Id>> RowFor(const EmbeddingUpdate& update, int64_t key, int64_t count)
      REQUIRES(mu_);
  void Change(const EmbeddingUpdate& update, const float* gradient, RowSlabs::Id id, float* values) REQUIRES(mu_);
  absl::StatusOr<int64_t> UpdateSome(const EmbeddingUpdate& update, absl::Span<const uint32_t> positions) REQUIRES(mu_);
  absl::Status EvictLeastFrequent(int64_t keep) REQUIRES(mu_);
  absl::Status SweepSome(int64_t rows, uint32_t now) REQUIRES(mu_);

  // Two tiers (embedding_shard_tiers.cc). Without a file, nothing is cold and there is always room.

  bool has_tiers() const { return file_ != nullptr; }
  void SetMissing(int64_t key, float* values) const;
  // Finds the rows of keys that are on disk; marks the others, and counts hits and misses.
  void FindCold(absl::Span<const int64_t> keys, absl::Span<const uint32_t> positions, ColdReads* cold) REQUIRES(mu_);
  absl::Status ReadCold(ColdReads* cold) const;
  absl::StatusOr<int64_t> UpdateChunk(const EmbeddingUpdate& update, absl::Span<const uint32_t> positions);
  // Takes rows into memory that are still where they were read.
  absl::Status WarmUp(const ColdReads& cold) REQUIRES(mu_);
  // Reads one row under the lock.
  absl::StatusOr<RowSlabs::Id> WarmUpOne(int64_t key) REQUIRES(mu_);
  // A row in memory, with undefined values, for a key whose row is on disk.
  absl::StatusOr<RowSlabs::Id> Overwrite(int64_t key) REQUIRES(mu_);
  int64_t BytesBesideRows() const REQUIRES(mu_);
  int64_t BytesForRows() const REQUIRES(mu_);
  // Sees that `rows` more can be in memory: adds slabs up to the limit, then writes other rows to disk. After an error
  // no row is lost.
  absl::Status MakeRoom(int64_t rows) REQUIRES(mu_);
  absl::Status CheckIndexFits() const REQUIRES(mu_);
  absl::Status Spill() REQUIRES(mu_);
  // Of rows that were not pulled or pushed lately, those with the fewest pushes for the time since the last one.
  std::vector<RowSlabs::Id> ColdestRows(int64_t rows) REQUIRES(mu_);
  void SetPlace(int64_t key, Place place) REQUIRES(mu_);
  // Reads the block if a row of it may be expired; returns the number of those.
  absl::StatusOr<int64_t> EvictExpiredIn(size_t block, uint32_t now) REQUIRES(mu_);

  const EmbeddingOptions& options_;
  const std::atomic<uint64_t>* const clock_;
  const RowFormat format_;
  const int64_t max_rows_;  // 0: no bound
  ColdFile* const file_;    // or nullptr
  const std::atomic<int64_t>* const most_bytes_;
  mutable Mutex mu_;
  EmbeddingPresence presence_ GUARDED_BY(mu_);
  int64_t move_ GUARDED_BY(mu_) = 0;  // that it arrives or leaves by
  RowSlabs slabs_ GUARDED_BY(mu_);
  ColdRows cold_;  // mu_ guards it, but for what it reads without a lock
  Index index_ GUARDED_BY(mu_);
  AdmissionFilter filter_ GUARDED_BY(mu_);
  EmbeddingCounts counts_ GUARDED_BY(mu_);
  RowSlabs::Id hand_ GUARDED_BY(mu_) = 0;  // where SweepSome goes on
  size_t cold_hand_ GUARDED_BY(mu_) = 0;   // the same for blocks on disk
  RowSlabs::Id spill_hand_ GUARDED_BY(mu_) = 0;
  uint32_t latest_used_ GUARDED_BY(mu_) = 0;
  bool remembers_ GUARDED_BY(mu_) = false;
  std::vector<Removal> removals_ GUARDED_BY(mu_);
  uint64_t removals_known_since_ GUARDED_BY(mu_) = 0;
};

}  // namespace weir
