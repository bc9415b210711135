// The running steps of a worker, by id.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/mutex.h"
#include "core/rendezvous/rendezvous.h"
#include "core/status.h"
#include "distribute/transport/transfer_log.h"

namespace weir {

// The rendezvous of one step.
struct StepRendezvous {
  std::shared_ptr<Rendezvous> local;   // this task's sends, and RecvTensor
  std::shared_ptr<Rendezvous> remote;  // used by kernels: receives from other tasks too; `local` until a partition runs
  std::shared_ptr<TransferLog> log;    // of tensors that `remote` receives from other tasks
};

// Thread-safe. The first use creates a step; another task's RecvTensor may come before the master's RunGraph. A step
// that was cleaned up is remembered: late calls get Aborted instead of waiting indefinitely.
class StepTable {
 public:
  // Wraps the local rendezvous of a step and records received tensors in its log; empty: there are no other tasks.
  using RemoteFactory = std::function<std::shared_ptr<Rendezvous>(int64_t step_id, const StepRendezvous& rendezvous)>;

  // For a partition of the step; the first one's `remote` and `owner` serve all. Aborted if the step was cleaned up.
  absl::StatusOr<StepRendezvous> FindOrCreate(int64_t step_id, const RemoteFactory& remote,
                                              const void* owner = nullptr);
  // For a call that waits for a tensor of the step; EndAwait must follow. As FindOrCreate, except that a step without
  // any partition is removed with its last waiting call: masters clean up only steps that they have started.
  absl::StatusOr<StepRendezvous> Await(int64_t step_id);
  void EndAwait(int64_t step_id);
  // Removes the step; pending waits in it get Aborted.
  void Cleanup(int64_t step_id);
  // Removes the owner's steps, as Cleanup does, and returns their ids.
  std::vector<int64_t> CleanupOf(const void* owner);
  // Removes all steps, as Cleanup does, and rejects others.
  void End();
  // Ends the waits in the step.
  void Abort(int64_t step_id, const absl::Status& status);
  size_t size() const;

 private:
  static constexpr size_t kRemembered = 16384;

  struct Entry {
    StepRendezvous rendezvous;
    int waiting = 0;
    bool has_begun = false;
    const void* owner = nullptr;
  };

  absl::StatusOr<Entry*> Find(int64_t step_id) REQUIRES(mu_);

  mutable Mutex mu_;
  absl::flat_hash_map<int64_t, Entry> steps_ GUARDED_BY(mu_);
  absl::flat_hash_set<int64_t> ended_ GUARDED_BY(mu_);
  std::deque<int64_t> ended_in_order_ GUARDED_BY(mu_);
  bool has_ended_ GUARDED_BY(mu_) = false;
};

}  // namespace weir
