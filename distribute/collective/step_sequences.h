// Step ids on which several masters agree, so that their parts of a collective meet.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "core/mutex.h"
#include "core/status.h"
#include "tensorflow/core/protobuf/worker.pb.h"

namespace weir {

// Each key of a graph with collectives counts its own steps. Where the leader is, the count begins; another task learns
// from it where to begin, and then counts the same steps. A task that comes later, or again, gets the step that the
// leader is in: that one cannot end without it. After a failure a task asks the leader again, in case the two have
// come apart; within a count nobody goes back, so all of them end up in the step of the one that is furthest.
// Thread-safe. What strangers ask for takes no memory.
class StepSequences {
 public:
  StepSequences();

  // Uses up the next id; nullopt: it has to be learnt from the leader first, or this task to Lead.
  std::optional<int64_t> Take(int64_t graph_key);
  // The step of that id, if Take gave it, is over.
  void End(int64_t step_id, bool is_ok);
  // Take gave it, and it has not ended.
  bool IsRunning(int64_t step_id) const;

  // This task is the leader: the key's count begins here, unless it has.
  void Lead(int64_t graph_key);
  // What the leader says. An answer that is what it was before tells nothing: that leader runs no steps of the key.
  void Learn(const tensorflow::GetStepSequenceResponse& response);
  // A peer has come to step `later` of the count in which `step_id` runs here.
  void CatchUp(int64_t step_id, int64_t later);
  // As the leader.
  absl::Status Answer(const tensorflow::GetStepSequenceRequest& request,
                      tensorflow::GetStepSequenceResponse* response) const;

 private:
  static constexpr size_t kMaxCounts = 4096;
  static constexpr int kMaxAsked = 4096;

  struct Count {
    int64_t next = 0;
    std::optional<int64_t> learned;  // nullopt: it began here
    bool is_doubtful = false;
    absl::btree_set<int64_t> running;
  };

  int64_t FirstStepId(int64_t graph_key) const REQUIRES(mu_);
  // Room for one more.
  void DropIdle() REQUIRES(mu_);

  const uint64_t secret_;
  mutable Mutex mu_;
  int64_t first_place_ GUARDED_BY(mu_) = 0;                     // of a count that begins: after all that were dropped
  absl::flat_hash_map<int64_t, Count> counts_ GUARDED_BY(mu_);  // by graph key
  absl::flat_hash_map<int64_t, int64_t> keys_ GUARDED_BY(mu_);  // of running steps
};

}  // namespace weir
