// Step ids that several masters agree on, so that their parts of a collective match.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "core/mutex.h"
#include "core/status.h"
#include "tensorflow/core/protobuf/worker.pb.h"

namespace weir {

// Counts the steps of each key of a graph with collectives. Thread-safe; requests from other tasks use no memory.
// - The count starts at the leader; another task learns from it where to start, and then counts the same steps.
// - A task that joins late, or again, gets the leader's current step, which cannot end without it.
// - After a failure a task asks the leader again, about all keys, in case their counts differ. Within a count no task
//   goes back, so all of them reach the furthest task's step.
class StepSequences {
 public:
  StepSequences();

  // Takes the next id; nullopt: Learn from the leader, or Lead, has to come first.
  std::optional<int64_t> Take(int64_t graph_key);
  // The step of that id, if Take returned it, has ended.
  void End(int64_t step_id, bool is_ok);
  // True if Take returned it and it has not ended.
  bool IsRunning(int64_t step_id) const;
  // True if Take returned it and it ended with an error; of the last thousands.
  bool HasFailed(int64_t step_id) const;
  // True if it failed after a peer had been found in a later step.
  bool WasOvertaken(int64_t step_id) const;

  // This task is the leader: starts the key's count unless it has started.
  void Lead(int64_t graph_key);
  // Applies the leader's answer. If it has not changed, the leader runs no steps of the key, and it is ignored.
  void Learn(const tensorflow::GetStepSequenceResponse& response);
  // A peer is at step `later` of the count of `step_id`, which runs here.
  void CatchUp(int64_t step_id, int64_t later);
  // As the leader.
  absl::Status Answer(const tensorflow::GetStepSequenceRequest& request,
                      tensorflow::GetStepSequenceResponse* response) const;

 private:
  static constexpr size_t kMaxCounts = 4096;
  static constexpr int kMaxAsked = 4096;
  static constexpr size_t kMaxFailed = 4096;

  struct Count {
    int64_t next = 0;
    std::optional<int64_t> learned;  // nullopt: the count started here
    bool is_doubtful = false;
    absl::btree_set<int64_t> running;
  };
  struct Running {
    int64_t graph_key = 0;
    bool is_overtaken = false;
  };

  int64_t FirstStepId(int64_t graph_key) const REQUIRES(mu_);
  // Makes room for one more.
  void DropIdle() REQUIRES(mu_);

  const uint64_t secret_;
  mutable Mutex mu_;
  int64_t first_place_ GUARDED_BY(mu_) = 0;                     // where a new count starts: after all that were dropped
  absl::flat_hash_map<int64_t, Count> counts_ GUARDED_BY(mu_);  // by graph key
  absl::flat_hash_map<int64_t, Running> running_ GUARDED_BY(mu_);
  absl::flat_hash_map<int64_t, bool> failed_ GUARDED_BY(mu_);  // whether the step was overtaken
  std::deque<int64_t> failed_in_order_ GUARDED_BY(mu_);
};

}  // namespace weir
