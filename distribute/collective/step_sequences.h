// Step ids on which several masters agree, so that their parts of a collective meet.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "core/mutex.h"
#include "tensorflow/core/protobuf/worker.pb.h"

namespace weir {

// Each key of a graph with collectives counts its own steps. Where the leader is, the count begins; another task learns
// from it where to begin, and then counts the same steps. A task that comes later, or again, gets the step that the
// leader is in: that one cannot end without it. After a failure a task asks the leader again, in case the two have
// come apart. Thread-safe.
class StepSequences {
 public:
  // Uses up the next id; nullopt: it has to be learnt from the leader first.
  std::optional<int64_t> Take(int64_t graph_key);
  // The step of that id, if Take gave it, is over.
  void End(int64_t step_id, bool is_ok);
  // What the leader says. An answer that is what it was before tells nothing: that leader runs no steps of the key.
  void Learn(const tensorflow::GetStepSequenceResponse& response);
  // As the leader; counts that have not begun begin.
  void Answer(const tensorflow::GetStepSequenceRequest& request, tensorflow::GetStepSequenceResponse* response);

 private:
  struct Count {
    int64_t next = 0;
    std::optional<int64_t> learned;  // nullopt: it began here
    bool is_doubtful = false;
    absl::btree_set<int64_t> running;
  };

  Mutex mu_;
  absl::flat_hash_map<int64_t, Count> counts_ GUARDED_BY(mu_);  // by graph key
  absl::flat_hash_map<int64_t, int64_t> keys_ GUARDED_BY(mu_);  // of running steps
};

}  // namespace weir
