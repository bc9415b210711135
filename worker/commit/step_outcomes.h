// The decisions of a task as the coordinator of steps, and those that it relays for its standby.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "core/mutex.h"
#include "core/status.h"

namespace weir {

// A set of ids that grows within bounded memory: it may contain ids between those that were added. Not thread-safe.
class IdRanges {
 public:
  void Add(int64_t id);
  bool Contains(int64_t id) const;

 private:
  static constexpr size_t kRanges = 64;

  absl::btree_map<int64_t, int64_t> last_of_;  // by the first of each range; disjoint
};

struct OutcomeLimits {
  size_t steps = 4096;  // of each session
  size_t closed_sessions = 256;
};

// Outcomes of steps, by session. The first call for a step decides, and no later one changes that. Thread-safe; never
// blocks.
// - Keeps the newest outcomes, within the limits, of the open sessions and of those that were closed last: a task that
//   was cut off may ask later. An older one is forgotten, which is an answer of its own: FAILED_PRECONDITION. Nothing
//   is decided about a step whose outcome may be forgotten.
// - A session that was never opened, or closed long ago, is NOT_FOUND.
class StepOutcomes {
 public:
  explicit StepOutcomes(OutcomeLimits limits = {}) : limits_(limits) {}

  // Has no effect on an open session. One that is opened again keeps its outcomes.
  void Open(absl::string_view session);
  void Close(absl::string_view session);

  // Decides that the step takes effect. ABORTED if it was aborted; ALREADY_EXISTS if it was committed before, so that
  // it takes effect once.
  absl::Status Commit(absl::string_view session, int64_t step_id);
  // Aborts the step unless it is committed. UNAVAILABLE if it is in doubt.
  absl::StatusOr<bool> IsCommittedElseAbort(absl::string_view session, int64_t step_id);
  // Leaves the step in doubt until Resolve: another task decides. ABORTED if it was aborted.
  absl::Status Doubt(absl::string_view session, int64_t step_id);
  // The other task's decision about a step in doubt; has no effect on another step.
  void Resolve(absl::string_view session, int64_t step_id, bool commit);
  // ABORTED if the step was aborted, and another error if it is not known whether it was.
  absl::Status CheckNotAborted(absl::string_view session, int64_t step_id) const;

 private:
  enum class Outcome { kAborted, kCommitted, kInDoubt };
  struct Session {
    bool is_open = true;
    absl::flat_hash_map<int64_t, Outcome> outcomes;
    std::deque<int64_t> in_order;
    IdRanges forgotten;
  };

  absl::StatusOr<Session*> Find(absl::string_view handle) const REQUIRES(mu_);
  // The step's outcome, which is `outcome` if it had none.
  absl::StatusOr<Outcome> Decide(absl::string_view session, int64_t step_id, Outcome outcome, bool* is_new)
      REQUIRES(mu_);

  const OutcomeLimits limits_;
  mutable Mutex mu_;
  absl::flat_hash_map<std::string, std::unique_ptr<Session>> sessions_ GUARDED_BY(mu_);
  std::deque<std::string> closed_ GUARDED_BY(mu_);  // in order
};

}  // namespace weir
