// A wait that ends when a lease is lost.
#pragma once

#include <utility>

#include "core/status.h"
#include "core/threads/cancellation.h"
#include "distribute/coordination/store.h"

namespace weir::coordination {

// Combines the caller's deadline and cancellation with the loss of the lease.
class LeasedWait {
 public:
  LeasedWait(const CallOptions& options, Lease& lease)
      : deadline_(options.deadline), cancellation_(options.cancellation), lease_(lease) {
    token_ = lease.lost().Register([this] { cancellation_.StartCancel(lease_.lost().status()); });
    if (token_ == CancellationManager::kInvalidToken) cancellation_.StartCancel(lease.lost().status());
  }
  ~LeasedWait() {
    if (token_ != CancellationManager::kInvalidToken) lease_.lost().Deregister(token_);
  }
  LeasedWait(const LeasedWait&) = delete;

  CallOptions options() { return {.deadline = deadline_, .cancellation = &cancellation_}; }
  // The status to return for a call that ended with `status`: the loss of the lease, if it was lost.
  absl::Status Explain(absl::Status status) const {
    if (!status.ok() && lease_.lost().IsCancelled()) return lease_.lost().status();
    return status;
  }

 private:
  const absl::Time deadline_;
  CancellationManager cancellation_;
  Lease& lease_;
  CancellationManager::Token token_;
};

}  // namespace weir::coordination
