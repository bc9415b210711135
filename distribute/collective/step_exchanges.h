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

// One step's. Thread-safe.
class StepExchange {
 public:
  using Result = absl::StatusOr<std::shared_ptr<MessageExchange>>;

  // For an op of this task: the collective stays as long as the step. The group's first op says as which formation the
  // step has the group here: ABORTED for another, be it this task's or a peer's that waits.
  Result Open(const InstanceKey& key);
  // For a peer, be it ahead of this task's op: the collective is there while somebody holds it.
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
  size_t next_sweep_ GUARDED_BY(mu_) = 64;  // when so many instances are known, unused ones are dropped
};

// A step is there while somebody holds it: what runs it here, and peers that wait for it. One that has ended here stays
// so. Of steps whose ids masters share, one that does not run here when a later one of its count begins will not come
// any more: who waits for it, or asks later, gets ABORTED, which says how far this task is. Thread-safe.
class StepExchanges {
 public:
  using Result = absl::StatusOr<std::shared_ptr<StepExchange>>;

  // `sequences` (may be null), which outlives this, knows what is about to run here.
  explicit StepExchanges(const StepSequences* sequences) : sequences_(sequences) {}

  // The step runs here from now on. What it ended with, if it has.
  Result Begin(int64_t step_id);
  // For a peer.
  Result Find(int64_t step_id);
  // Those who wait in it, and who come later, get `status`, or what the step was aborted with before.
  void End(int64_t step_id, const absl::Status& status);

  // The later step that an error of Find, on whatever task, tells of.
  static std::optional<int64_t> LaterStep(const absl::Status& status);

 private:
  static constexpr size_t kRemembered = 16384;
  static constexpr size_t kMaxCounts = 4096;

  std::shared_ptr<StepExchange> FindOrCreate(int64_t step_id) REQUIRES(mu_);
  // Whether, and by which, the step is overtaken.
  std::optional<int64_t> Overtaker(int64_t step_id) const REQUIRES(mu_);

  const StepSequences* const sequences_;
  Mutex mu_;
  absl::flat_hash_map<int64_t, std::weak_ptr<StepExchange>> steps_ GUARDED_BY(mu_);
  size_t next_sweep_ GUARDED_BY(mu_) = 64;  // when so many steps are known, unused ones are dropped
  absl::flat_hash_set<int64_t> running_ GUARDED_BY(mu_);
  absl::flat_hash_map<int64_t, int64_t> latest_ GUARDED_BY(mu_);  // step that has begun here, by SharedStepId::CountOf
  absl::flat_hash_map<int64_t, absl::Status> ended_ GUARDED_BY(mu_);
  std::deque<int64_t> ended_in_order_ GUARDED_BY(mu_);
};

}  // namespace weir
