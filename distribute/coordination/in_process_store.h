// A store for the threads of one process, and for tests.
#pragma once

#include <condition_variable>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/mutex.h"
#include "distribute/coordination/alarm_clock.h"
#include "distribute/coordination/key_table.h"
#include "distribute/coordination/store.h"

namespace weir::coordination {

// Its contents end with it. A lease is kept alive while its object exists, and then expires by the clock.
class InProcessStore : public Store {
 public:
  struct Options {
    std::shared_ptr<AlarmClock> clock;  // nullptr: the system's
    // Older events are compacted. The history may exceed this by one transaction.
    int64_t max_history_bytes = 64 << 20;
  };

  explicit InProcessStore(Options options);
  InProcessStore() : InProcessStore(Options()) {}
  ~InProcessStore() override;

  absl::StatusOr<TransactionResult> Commit(const CallOptions& options, const Transaction& transaction) override;
  absl::StatusOr<std::unique_ptr<Watch>> NewWatch(Keys keys, int64_t from) override;
  absl::StatusOr<std::unique_ptr<Lease>> GrantLease(const CallOptions& options, absl::Duration ttl) override;
  absl::Status RevokeLease(const CallOptions& options, LeaseId id) override;
  absl::Status Compact(const CallOptions& options, int64_t revision) override;

 private:
  class WatchHandle;
  class LeaseHandle;

  // The lease's object was destroyed.
  void Abandon(LeaseId id, absl::Duration ttl);
  // Returns the lease's alarm.
  std::optional<AlarmClock::Token> End(LeaseId id, absl::Status reason);
  // Wakes watches for changes since `before`.
  void Notify(int64_t before) REQUIRES(mu_);

  const std::shared_ptr<AlarmClock> clock_;
  Mutex mu_;
  KeyTable table_ GUARDED_BY(mu_);
  LeaseId next_lease_ GUARDED_BY(mu_) = 1;
  absl::flat_hash_map<LeaseId, std::shared_ptr<CancellationManager>> lost_ GUARDED_BY(mu_);  // of leases with an object
  absl::flat_hash_map<LeaseId, AlarmClock::Token> alarms_ GUARDED_BY(mu_);                   // of leases without
  absl::flat_hash_set<WatchHandle*> watches_ GUARDED_BY(mu_);
};

}  // namespace weir::coordination
