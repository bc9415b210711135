// The messages of a task's collectives, by step.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "core/mutex.h"
#include "distribute/collective/buffer_key.h"
#include "distribute/collective/message_exchange.h"

namespace weir {

// One step's. Thread-safe.
class StepExchange {
 public:
  // Made when first asked for, be it by a peer that is ahead.
  std::shared_ptr<MessageExchange> Find(const InstanceKey& key);
  void Abort(const absl::Status& status);
  void AbortInstance(const InstanceKey& key, const absl::Status& status);

 private:
  Mutex mu_;
  absl::Status status_ GUARDED_BY(mu_);
  absl::flat_hash_map<InstanceKey, std::shared_ptr<MessageExchange>> instances_ GUARDED_BY(mu_);
};

// A step is there while somebody holds it: what runs it here, and peers that wait for it. One that has ended here stays
// so. Thread-safe.
class StepExchanges {
 public:
  // What the step ended with, once it has.
  absl::StatusOr<std::shared_ptr<StepExchange>> Find(int64_t step_id);
  // The step has come to this collective. Of steps whose ids masters share (StepSequences), which follow one another,
  // earlier ones will not come to it any more: those who wait for them get ABORTED.
  void Begin(int64_t step_id, const InstanceKey& key);
  // ABORTED when Begin has said so.
  absl::Status CheckNotOvertaken(int64_t step_id, const InstanceKey& key);
  // Those who wait in it, and who come later, get `status`.
  void End(int64_t step_id, const absl::Status& status);

 private:
  static constexpr size_t kRemembered = 16384;
  static constexpr size_t kMaxInstances = 65536;

  void DropUnused() REQUIRES(mu_);

  Mutex mu_;
  absl::flat_hash_map<int64_t, std::weak_ptr<StepExchange>> steps_ GUARDED_BY(mu_);
  absl::flat_hash_map<InstanceKey, int64_t> latest_ GUARDED_BY(mu_);  // step that has begun it
  size_t next_sweep_ GUARDED_BY(mu_) = 64;  // when so many steps are known, unused ones are dropped
  absl::flat_hash_map<int64_t, absl::Status> ended_ GUARDED_BY(mu_);
  std::deque<int64_t> ended_in_order_ GUARDED_BY(mu_);
};

}  // namespace weir
