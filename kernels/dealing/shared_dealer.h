// The dealer that the steps of many sessions share.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "core/device/device.h"
#include "core/device/resource_manager.h"
#include "core/kernel/op_kernel.h"
#include "core/kernel/variable.h"
#include "core/mutex.h"
#include "core/threads/timer_queue.h"
#include "kernels/dealing/input_dealer.h"

namespace weir {

// An InputDealer whose progress is in a variable of its device. Calls pass that variable.
// - Thread-safe; nothing blocks. A Take that has to wait is kept; its callback runs, with no lock held, on a compute
//   thread, or on the thread that cancels it.
// - Without a value of the variable, or with that of other chunks, calls fail with FAILED_PRECONDITION. If the value is
//   replaced, which a restore does, all leases end.
class SharedDealer : public Resource, public std::enable_shared_from_this<SharedDealer> {
 public:
  using TakeCallback = std::function<void(absl::StatusOr<DealtRange>)>;
  using VariablePtr = std::shared_ptr<Variable>;

  SharedDealer(InputDealerOptions options, Device* device)
      : allocator_(device->allocator()),
        work_queue_(device->work_queue()),
        options_(options),
        dealer_(std::move(options)) {}

  // "InputDealer digits: epoch 1, 2 claims refused, …; worker-0 4000 examples at 210.5/s, chunk 7 for 1.2s; …", a line.
  std::string DebugString() const override;
  // InvalidArgument unless a node with these options can stand for this dealer.
  absl::Status CheckMatches(const InputDealerOptions& other) const;

  // `cancellation` may be null and lives until `done`.
  void Take(VariablePtr progress, std::string worker, CancellationManager* cancellation, TakeCallback done);
  absl::StatusOr<int64_t> Claim(Variable& progress, const DealtRange& range);
  absl::Status Advance(Variable& progress, int64_t claim);
  void Release(int64_t claim);

 private:
  struct Waiter {
    VariablePtr progress;
    std::string worker;
    TakeCallback done;
    CancellationManager* cancellation = nullptr;
    CancellationManager::Token token = CancellationManager::kInvalidToken;
    int64_t id = 0;
  };
  using Finished = std::vector<std::function<void()>>;
  // Runs `use` with the table, locked, and writable if `writes`.
  absl::Status WithProgress(Variable& variable, bool writes, absl::FunctionRef<absl::Status(DealtProgress)> use)
      REQUIRES(mu_);
  absl::StatusOr<std::optional<DealtRange>> TryTake(Variable& progress, const std::string& worker) REQUIRES(mu_);
  // Serves the waiting, in their order, and sets the timer for those that are left.
  void ServeWaiters(Finished* finished) REQUIRES(mu_);
  void Serve();
  void Cancel(int64_t id, CancellationManager* cancellation);
  void Post(Finished finished);

  Allocator* const allocator_;
  WorkQueue* const work_queue_;
  const InputDealerOptions options_;
  mutable Mutex mu_;
  InputDealer dealer_ GUARDED_BY(mu_);
  const void* checked_ GUARDED_BY(mu_) = nullptr;  // the table that CheckProgress has accepted
  int64_t epoch_ GUARDED_BY(mu_) = 0;              // as last seen
  std::list<Waiter> waiters_ GUARDED_BY(mu_);
  int64_t next_id_ GUARDED_BY(mu_) = 0;
  absl::Time wakes_at_ GUARDED_BY(mu_) = absl::InfiniteFuture();
  TimerQueue timers_;  // destroyed first: its callbacks use the others
};

}  // namespace weir
