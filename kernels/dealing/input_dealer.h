// Deals the examples of an epoch, in chunks, to workers that come and go.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "core/status.h"

namespace weir {

struct InputDealerOptions {
  std::string name;                  // for messages
  std::vector<int64_t> chunk_sizes;  // in examples
  int64_t batch_size = 1;
  bool drop_remainder = false;  // the last batch of a chunk is dropped if it is smaller
  int64_t epochs = 1;           // -1: without end
  bool shuffle = false;         // the order of the chunks, anew in each epoch
  int64_t seed = 0;
  absl::Duration lease = absl::Seconds(10);
  // The rest of a chunk is divided if its worker makes fewer examples a second than the median of the active workers
  // by this factor; 0: never.
  double straggler_factor = 0;
};

// A batch of a chunk that a worker may process.
struct DealtRange {
  int64_t epoch = 0;
  int64_t chunk = 0;
  int64_t part = 0;   // 0 or 1: a chunk that was divided has two parts
  int64_t begin = 0;  // the first example within the chunk
  int64_t count = 0;  // of the batch
  int64_t end = 0;    // of the part
  int64_t lease = 0;  // a number that each deal has of its own

  friend bool operator==(const DealtRange&, const DealtRange&) = default;
};

// What is left of the epoch, as a table of int64 [1 + chunks, 4], which belongs to the caller: a variable, saved and
// restored with the others. Row 0 has the epoch; row 1 + c the parts of chunk c that no committed step has used:
// examples [a, b) and [c, d). It is all that survives; leases and claims do not.
class DealtProgress {
 public:
  static constexpr int64_t kColumns = 4;

  explicit DealtProgress(absl::Span<int64_t> table) : table_(table) {}

  int64_t num_chunks() const { return static_cast<int64_t>(table_.size()) / kColumns - 1; }
  int64_t epoch() const { return table_[0]; }
  void set_epoch(int64_t epoch) { table_[0] = epoch; }
  int64_t begin(int64_t chunk, int64_t part) const { return At(chunk, part)[0]; }
  int64_t end(int64_t chunk, int64_t part) const { return At(chunk, part)[1]; }
  int64_t left(int64_t chunk, int64_t part) const { return end(chunk, part) - begin(chunk, part); }
  void Set(int64_t chunk, int64_t part, int64_t begin, int64_t end) {
    At(chunk, part)[0] = begin;
    At(chunk, part)[1] = end;
  }

 private:
  int64_t* At(int64_t chunk, int64_t part) const { return &table_[(1 + chunk) * kColumns + 2 * part]; }

  const absl::Span<int64_t> table_;
};

// A pure state machine: no threads, no clock, no variable of its own. Times are of a monotonic clock. Not thread-safe.
// A worker's step takes a range, claims it before the step's decision, and advances over it after the decision.
//
//   free --Take--> leased --Claim--> pinned --Advance--> leased, one batch further
//     ^              |                  |
//     +-- lease ends +     Release -----+--> leased
//
// Invariants, which make each example count once in an epoch whatever workers do:
// - A claim is granted only for the first examples of a part that no committed step has used, to the lease that has the
//   part, and for one step at a time.
// - A part that is pinned is not dealt, nor divided, until the step has advanced or has ended without.
// - An epoch begins when all examples of the one before it have been used by committed steps.
class InputDealer {
 public:
  // InvalidArgument for options that allow no batch.
  static absl::Status Check(const InputDealerOptions& options);
  explicit InputDealer(InputDealerOptions options);  // that Check accepts

  const InputDealerOptions& options() const { return options_; }
  // The table before the first epoch.
  std::vector<int64_t> InitialProgress() const;
  // FailedPrecondition unless the table can be one of this dealer.
  absl::Status CheckProgress(const DealtProgress& progress) const;

  // The next batch of the worker's chunk, or of another if it has none, under a lease that begins anew. nullopt: all
  // that is left is with others, and may come back. OutOfRange once the last epoch is complete. May divide the part,
  // which leaves the same examples in the table.
  absl::StatusOr<std::optional<DealtRange>> Take(DealtProgress progress, const std::string& worker, absl::Time now);
  // Pins the range's part until Advance or Release of the returned number. Aborted if it is no longer the lease's, or
  // does not begin where the last committed batch ended.
  absl::StatusOr<int64_t> Claim(DealtProgress progress, const DealtRange& range, absl::Time now);
  // The claim's step is committed. FailedPrecondition, and the table stays, if the claim was released, or if the table
  // was replaced since.
  absl::Status Advance(DealtProgress progress, int64_t claim, absl::Time now);
  // The claim's step has ended here. No effect after Advance.
  void Release(int64_t claim);

  // The table was replaced: all chunks are free again, except for those that are pinned until their steps have ended.
  void EndLeases() { leases_.clear(); }

  // When the first of the leases ends after `now`, so that a Take may succeed; InfiniteFuture: none does.
  absl::Time NextLeaseEnd(absl::Time now) const;

  struct Worker {
    std::string name;
    int64_t examples = 0;  // that its committed steps used
    double rate = 0;       // examples a second
    int64_t refused = 0;   // claims
    std::optional<int64_t> chunk;
    absl::Duration age;  // of its chunk's lease since it was dealt
  };
  std::vector<Worker> Workers(absl::Time now) const;
  int64_t num_refused() const { return num_refused_; }
  int64_t num_expired() const { return num_expired_; }
  int64_t num_divided() const { return num_divided_; }

 private:
  using Slot = std::pair<int64_t, int64_t>;  // chunk and part
  struct Lease {
    int64_t number = 0, epoch = 0;
    std::string worker;
    absl::Time dealt, ends;
  };
  struct Pin {
    Slot slot;
    DealtRange range;
  };
  struct Pace {
    int64_t examples = 0, refused = 0, advances = 0;
    double rate = 0;
    absl::Time since;  // of the batch that it makes now
    absl::Time last_seen;
  };

  int64_t batch() const { return options_.batch_size; }
  // Examples of a part that form batches.
  int64_t Usable(int64_t examples) const { return options_.drop_remainder ? examples - examples % batch() : examples; }
  bool IsPinned(const Slot& slot) const { return pinned_.contains(slot); }
  void StartEpoch(DealtProgress progress, int64_t epoch) const;
  // The chunks in the epoch's order.
  const std::vector<int64_t>& Order(int64_t epoch);
  std::optional<Slot> OwnSlot(const DealtProgress& progress, const std::string& worker);
  std::optional<Slot> FreeSlot(const DealtProgress& progress, absl::Time now);
  bool IsComplete(const DealtProgress& progress) const;
  DealtRange Renew(DealtProgress progress, const Slot& slot, Lease& lease, absl::Time now);
  void DivideIfSlow(DealtProgress progress, const Slot& slot, const Lease& lease);
  absl::Status Refused(const DealtRange& range, const std::string& why);
  void ForgetWorkers(absl::Time now);

  const InputDealerOptions options_;
  absl::btree_map<Slot, Lease> leases_;
  absl::btree_map<int64_t, Pin> pins_;
  absl::btree_map<Slot, int64_t> pinned_;
  absl::btree_map<std::string, Pace> workers_;
  int64_t next_lease_ = 1, next_claim_ = 1;
  int64_t num_refused_ = 0, num_expired_ = 0, num_divided_ = 0;
  int64_t order_epoch_ = -1;
  std::vector<int64_t> order_;
};

}  // namespace weir
