// The decisions of a task as the coordinator of steps.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "core/mutex.h"

namespace weir {

// Outcomes of steps, by session. The first call for a step decides, and no later one changes that. Thread-safe; never
// blocks. Keeps the newest 4096 steps of the 256 most recently used sessions each, even after a session has ended: a
// task that was cut off may ask later.
class StepOutcomes {
 public:
  // True if the step is committed, by this call or an earlier one; false if it was aborted.
  bool Commit(absl::string_view session, int64_t step_id) { return Decide(session, step_id, true); }
  // Aborts the step unless it is committed.
  bool IsCommittedElseAbort(absl::string_view session, int64_t step_id) { return Decide(session, step_id, false); }

 private:
  static constexpr size_t kSteps = 4096, kSessions = 256;

  struct Session {
    std::string handle;
    absl::flat_hash_map<int64_t, bool> committed;
    std::deque<int64_t> in_order;
  };

  bool Decide(absl::string_view session, int64_t step_id, bool commit);
  Session& Find(absl::string_view handle) REQUIRES(mu_);

  Mutex mu_;
  std::list<Session> sessions_ GUARDED_BY(mu_);  // most recently used first
  absl::flat_hash_map<absl::string_view, std::list<Session>::iterator> by_handle_ GUARDED_BY(mu_);
};

}  // namespace weir
