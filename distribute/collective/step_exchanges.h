// The messages of a task's collectives, by step.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/mutex.h"
#include "distribute/collective/buffer_key.h"
#include "distribute/collective/message_exchange.h"
#include "distribute/collective/step_sequences.h"

namespace weir {

// The messages of one step. Thread-safe.
class StepExchange {
 public:
  using Result = absl::StatusOr<std::shared_ptr<MessageExchange>>;

  // For an op of this task: the collective lasts as long as the step. The group's first op fixes the formation for the
  // step; other formations, of this task or of a waiting peer, are ABORTED.
  Result Open(const InstanceKey& key);
  // For a peer, which may be ahead of this task's op: the collective exists while it is referenced.
  Result Find(const InstanceKey& key);
  // The first status stays.
  void Abort(const absl::Status& status);
  absl::Status status() const;

 private:
  struct Instance {
    std::weak_ptr<MessageExchange> shared;
    std::shared_ptr<MessageExchange> opened;
  };

  absl::Status CheckFormation(const InstanceKey& key) const REQUIRES(mu_);
  std::shared_ptr<MessageExchange> FindOrCreate(const InstanceKey& key, Instance** instance) REQUIRES(mu_);

  mutable Mutex mu_;
  absl::Status status_ GUARDED_BY(mu_);
  absl::flat_hash_map<int32_t, uint64_t> formations_ GUARDED_BY(mu_);  // by group key
  absl::flat_hash_map<InstanceKey, Instance> instances_ GUARDED_BY(mu_);
  size_t next_sweep_ GUARDED_BY(mu_) = 64;  // unused instances are dropped when this many are known
};

// A step exists while it is referenced, by the step here or by waiting peers. An ended step is remembered. If masters
// share step ids and a later step of the same count begins here, earlier steps that are not running never will: waiting
// and later calls for them get ABORTED, with this task's latest step. Thread-safe.
class StepExchanges {
 public:
  using Result = absl::StatusOr<std::shared_ptr<StepExchange>>;

  // `sequences` (may be null), which outlives this, knows the steps about to run here.
  explicit StepExchanges(const StepSequences* sequences) : sequences_(sequences) {}

  // Starts the step on this task. Returns its final status if it has ended.
  Result Begin(int64_t step_id);
  // For a peer.
  Result Find(int64_t step_id);
  // Waiting and later calls get `status`, or the status of an earlier abort.
  void End(int64_t step_id, const absl::Status& status);

  // The later step in an error of Find, on whatever task it occurred.
  static std::optional<int64_t> LaterStep(const absl::Status& status);

 private:
  static constexpr size_t kRemembered = 16384;
  static constexpr size_t kMaxCounts = 4096;

  std::shared_ptr<StepExchange> FindOrCreate(int64_t step_id) REQUIRES(mu_);
  // The step, if any, that makes this one obsolete.
  std::optional<int64_t> Overtaker(int64_t step_id) const REQUIRES(mu_);

  const StepSequences* const sequences_;
  Mutex mu_;
  absl::flat_hash_map<int64_t, std::weak_ptr<StepExchange>> steps_ GUARDED_BY(mu_);
  size_t next_sweep_ GUARDED_BY(mu_) = 64;  // unused steps are dropped when this many are known
  absl::flat_hash_set<int64_t> running_ GUARDED_BY(mu_);
  absl::flat_hash_map<int64_t, int64_t> latest_
      GUARDED_BY(mu_);  // the latest step that began here, by SharedStepId::CountOf
  absl::flat_hash_map<int64_t, absl::Status> ended_ GUARDED_BY(mu_);
  std::deque<int64_t> ended_in_order_ GUARDED_BY(mu_);
};

}  // namespace weir
