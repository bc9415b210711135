// Requests over a link that wait for their answers: the base of buffer and call requests.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "core/mutex.h"
#include "core/threads/cancellation.h"
#include "distribute/transport/frames/frame_limits.h"
#include "distribute/transport/frames/frame_link.h"
#include "distribute/transport/worker_interface.h"

namespace weir {

// A Pending has the fields `cancellation` and `token`. Each ends once, with a Result or an error.
// - Each request has its own channel number, on which its answer arrives.
// - Thread-safe. When the link breaks, pending requests end with its status, and new ones are rejected.
template <typename Pending, typename Result>
class PendingRequests : public FrameLink::Receiver,
                        public std::enable_shared_from_this<PendingRequests<Pending, Result>> {
 public:
  // `task` is the peer.
  PendingRequests(std::string task, std::shared_ptr<FrameLink> link) : task_(std::move(task)), link_(std::move(link)) {}

  // As FrameLink's.
  const char* route() const { return link_->route(); }
  bool is_open() const {
    MutexLock lock(mu_);
    return is_open_;
  }
  void OnBroken(const absl::Status& status) override {
    absl::flat_hash_map<uint32_t, Pending> pending;
    {
      MutexLock lock(mu_);
      is_open_ = false;
      pending.swap(pending_);
    }
    for (auto& [channel, one] : pending) End(std::move(one), status);
  }

 protected:
  // Runs the request's `done`, with no lock held.
  virtual void Finish(Pending pending, absl::StatusOr<Result> result) = 0;

  // Sends a frame of `kind` with the result of `bytes`. Returns false, without sending or ending anything, if the link
  // is broken or full or too many requests are pending.
  bool Ask(FrameKind kind, Pending pending, absl::FunctionRef<std::string()> bytes) {
    CancellationManager* const cancellation = pending.cancellation;
    const uint32_t channel = next_channel_.fetch_add(1, std::memory_order_relaxed);
    if (cancellation != nullptr) {
      // The callback runs only while the request is pending, so the manager exists.
      pending.token = cancellation->Register([weak = this->weak_from_this(), channel] {
        if (auto self = weak.lock()) self->Cancel(channel);
      });
    }
    bool is_cancelled = false, has_room = false;
    {
      MutexLock lock(mu_);
      // A cancellation that began earlier found no request to cancel.
      is_cancelled = cancellation != nullptr && cancellation->IsCancelled();
      has_room = is_open_ && pending_.size() < kMaxChannels && !pending_.contains(channel) && !link_->is_full();
      if (!is_cancelled && has_room) pending_.emplace(channel, std::exchange(pending, {}));
    }
    if (is_cancelled) {
      End(std::move(pending), Cancelled(*cancellation));
      return true;
    }
    if (!has_room) {
      if (cancellation != nullptr) cancellation->TryDeregister(pending.token);
      return false;
    }
    link_->Send({kind, channel}, OwnedBytes(bytes()));
    // Another thread may have ended the request before it was in the ring, where a cancellation has no effect yet.
    if (!IsPending(channel)) SendCancel(channel);
    return true;
  }
  // Every path that ends a request takes it first.
  bool Take(uint32_t channel, Pending* pending) {
    MutexLock lock(mu_);
    const auto it = pending_.find(channel);
    if (it == pending_.end()) return false;
    *pending = std::move(it->second);
    pending_.erase(it);
    return true;
  }
  void End(Pending pending, absl::StatusOr<Result> result) {
    if (pending.cancellation != nullptr) pending.cancellation->TryDeregister(pending.token);
    Finish(std::move(pending), std::move(result));
  }
  void SendCancel(uint32_t channel) { link_->Send({FrameKind::kCancel, channel}, ReceivedBytes({}, nullptr)); }

  const std::string task_;
  const std::shared_ptr<FrameLink> link_;
  mutable Mutex mu_;
  absl::flat_hash_map<uint32_t, Pending> pending_ GUARDED_BY(mu_);  // by channel

 private:
  static absl::Status Cancelled(const CancellationManager& manager) {
    const absl::Status reason = manager.status();
    return absl::CancelledError(reason.ok() ? "The call was cancelled" : reason.message());
  }
  bool IsPending(uint32_t channel) const {
    MutexLock lock(mu_);
    return pending_.contains(channel);
  }
  void Cancel(uint32_t channel) {
    Pending pending;
    if (!Take(channel, &pending)) return;
    SendCancel(channel);
    const absl::Status status = Cancelled(*pending.cancellation);
    End(std::move(pending), status);
  }

  std::atomic<uint32_t> next_channel_{1};
  bool is_open_ GUARDED_BY(mu_) = true;
};

}  // namespace weir
