// The steps that a worker takes part in, by id.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/mutex.h"
#include "core/rendezvous.h"
#include "core/status.h"
#include "distribute/transport/transfer_log.h"

namespace weir {

// Where the tensors of one step meet.
struct StepRendezvous {
  std::shared_ptr<Rendezvous> local;   // this task's senders, RecvTensor
  std::shared_ptr<Rendezvous> remote;  // what kernels use: receives from other tasks too
  std::shared_ptr<TransferLog> log;    // of what `remote` receives from them
};

// Thread-safe. A step comes into being with its first use here, be it another task's RecvTensor, which may be earlier
// than the master's RunGraph. A step that was cleaned up stays so: late calls get Aborted instead of waiting for ever.
class StepTable {
 public:
  // Wraps the local rendezvous of a step, whose log is told of what arrives; nullptr: there are no other tasks.
  using RemoteFactory = std::function<std::shared_ptr<Rendezvous>(int64_t step_id, const StepRendezvous& rendezvous)>;

  explicit StepTable(RemoteFactory remote) : remote_(std::move(remote)) {}

  // For a part of the step. Aborted when the step was cleaned up.
  absl::StatusOr<StepRendezvous> FindOrCreate(int64_t step_id);
  // For one that waits for what the step sends; EndAwait follows. The same, but a step that no part of has come is gone
  // with the last that waited: masters clean up only what they have begun.
  absl::StatusOr<StepRendezvous> Await(int64_t step_id);
  void EndAwait(int64_t step_id);
  // Drops the step; whoever still waits in it gets Aborted.
  void Cleanup(int64_t step_id);
  // Ends the waits in the step.
  void Abort(int64_t step_id, const absl::Status& status);
  size_t size() const;

 private:
  static constexpr size_t kRemembered = 16384;

  struct Entry {
    StepRendezvous rendezvous;
    int waiting = 0;
    bool has_begun = false;
  };

  absl::StatusOr<Entry*> Find(int64_t step_id) REQUIRES(mu_);

  const RemoteFactory remote_;
  mutable Mutex mu_;
  absl::flat_hash_map<int64_t, Entry> steps_ GUARDED_BY(mu_);
  absl::flat_hash_set<int64_t> ended_ GUARDED_BY(mu_);
  std::deque<int64_t> ended_in_order_ GUARDED_BY(mu_);
};

}  // namespace weir
