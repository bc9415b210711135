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
#include "kernels/embedding/embedding_options.h"
#include "kernels/embedding/key_hash.h"
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
};

// Thread-safe. `clock` is the table's version; a row that changes is marked with it while the lock is held, so that an
// export that has passed over this shard knows what changed since by the version alone.
class EmbeddingShard {
 public:
  EmbeddingShard(const EmbeddingOptions& options, Allocator* allocator, const std::atomic<uint64_t>* clock,
                 int64_t max_rows, int64_t filter_counters, EmbeddingPresence presence);

  // What reads and changes rows is ABORTED while the shard is elsewhere.

  // out[i * width …] = values of keys[i], for i in positions.
  absl::Status Gather(absl::Span<const int64_t> keys, absl::Span<const uint32_t> positions, float* out);
  // Applies update.keys[i] for i in positions, which are sorted here. Returns the number of rejected keys.
  absl::StatusOr<int64_t> Update(const EmbeddingUpdate& update, absl::Span<uint32_t> positions);
  absl::StatusOr<int64_t> Remove(absl::Span<const int64_t> keys, absl::Span<const uint32_t> positions);
  // Removes what has not been used for longer than it may live.
  int64_t EvictExpired(uint32_t now);
  void Clear();

  // Rows that changed after version `since`, all with -1; this export is the table's `version`. From the first one on,
  // removals are remembered until an export names a later version. FailedPrecondition where changes are not known. A
  // shard that is elsewhere has no rows.
  absl::StatusOr<EmbeddingRows> Export(int64_t since, uint64_t version, Allocator* allocator);
  // Overwrites rows; their versions come along, by which an export of changes would pass them over: none is possible
  // until RememberRemovals or an export of all rows. The tensors fit together.
  absl::Status Import(const EmbeddingRows& rows, absl::Span<const uint32_t> positions);
  // Remembers removals from `version` on, and no others.
  void RememberRemovals(uint64_t version);
  // Whether removals since this version are known.
  bool KnowsRemovalsSince(int64_t version) const;

  EmbeddingCounts counts() const;

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
  struct RowHash {
    using is_transparent = void;
    size_t operator()(int64_t key) const { return KeyHash(key); }
    size_t operator()(RowSlabs::Id id) const { return KeyHash(slabs->info(id).key); }
    const RowSlabs* slabs;
  };
  struct RowEqual {
    using is_transparent = void;
    bool operator()(RowSlabs::Id a, RowSlabs::Id b) const { return a == b; }
    bool operator()(RowSlabs::Id id, int64_t key) const { return slabs->info(id).key == key; }
    bool operator()(int64_t key, RowSlabs::Id id) const { return slabs->info(id).key == key; }
    const RowSlabs* slabs;
  };
  struct Removal {
    int64_t key;
    uint64_t version;
  };
  using Index = absl::flat_hash_set<RowSlabs::Id, RowHash, RowEqual>;

  absl::Status CheckHere() const REQUIRES(mu_);
  absl::Status CheckUnfrozen() const REQUIRES(mu_);
  void Empty() REQUIRES(mu_);
  absl::StatusOr<EmbeddingRows> Copy(int64_t since, uint64_t version, Allocator* allocator) REQUIRES(mu_);
  bool KnowsSince(int64_t version) const REQUIRES(mu_);
  absl::Status Take(const EmbeddingRows& rows, absl::Span<const uint32_t> positions) REQUIRES(mu_);
  bool Expired(const EmbeddingRowInfo& info, uint32_t now) const;
  absl::StatusOr<RowSlabs::Id> AddRow(int64_t key) REQUIRES(mu_);
  void RemoveRow(RowSlabs::Id id) REQUIRES(mu_);
  // The key's row, made where it is let in; nullopt where it is not.
  absl::StatusOr<std::optional<RowSlabs::Id>> RowFor(const EmbeddingUpdate& update, int64_t key, int64_t count)
      REQUIRES(mu_);
  void Change(const EmbeddingUpdate& update, const float* values, float* row) const;
  void EvictLeastFrequent(int64_t keep) REQUIRES(mu_);
  void SweepSome(int64_t rows, uint32_t now) REQUIRES(mu_);

  const EmbeddingOptions& options_;
  const std::atomic<uint64_t>* const clock_;
  const int64_t max_rows_;  // 0: no bound
  mutable Mutex mu_;
  EmbeddingPresence presence_ GUARDED_BY(mu_);
  int64_t move_ GUARDED_BY(mu_) = 0;  // that it arrives or leaves by
  RowSlabs slabs_ GUARDED_BY(mu_);
  Index index_ GUARDED_BY(mu_);
  AdmissionFilter filter_ GUARDED_BY(mu_);
  EmbeddingCounts counts_ GUARDED_BY(mu_);
  RowSlabs::Id hand_ GUARDED_BY(mu_) = 0;  // where SweepSome goes on
  bool remembers_ GUARDED_BY(mu_) = false;
  std::vector<Removal> removals_ GUARDED_BY(mu_);
  uint64_t removals_known_since_ GUARDED_BY(mu_) = 0;
};

}  // namespace weir
