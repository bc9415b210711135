// What the asking ends of links share: requests that wait for their answers.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "core/cancellation.h"
#include "core/mutex.h"
#include "distribute/transport/frames/frame_limits.h"
#include "distribute/transport/frames/frame_link.h"
#include "distribute/transport/worker_interface.h"

namespace weir {

// Of type Pending, which has `cancellation` and `token`; each ends once, with a Result or an error. Each has a channel,
// a number of its own, under which its answer comes. Thread-safe. Once the link is broken, those that wait end with its
// status, and no others begin.
template <typename Pending, typename Result>
class PendingRequests : public FrameLink::Receiver,
                        public std::enable_shared_from_this<PendingRequests<Pending, Result>> {
 public:
  // `task`: who answers.
  PendingRequests(std::string task, std::shared_ptr<FrameLink> link) : task_(std::move(task)), link_(std::move(link)) {}

  // FrameLink's.
  const char* way() const { return link_->way(); }
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
  // Calls its `done`, with no lock held.
  virtual void Finish(Pending pending, absl::StatusOr<Result> result) = 0;

  // Sends a frame of `kind` with what `bytes` gives. False, and nothing is sent nor ended, where the link is broken or
  // too many wait already, or too much.
  bool Ask(FrameKind kind, Pending pending, absl::FunctionRef<std::string()> bytes) {
    CancellationManager* const cancellation = pending.cancellation;
    const uint32_t channel = next_channel_.fetch_add(1, std::memory_order_relaxed);
    if (cancellation != nullptr) {
      // Runs as long as the request is pending, so that the manager is there.
      pending.token = cancellation->Register([weak = this->weak_from_this(), channel] {
        if (auto self = weak.lock()) self->Cancel(channel);
      });
    }
    bool is_cancelled = false, has_room = false;
    {
      MutexLock lock(mu_);
      // One that has begun before this has found nothing to cancel.
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
    // Who ended it meanwhile may have been before the request in the ring, where a cancellation says nothing yet.
    if (!IsPending(channel)) SendCancel(channel);
    return true;
  }
  // Whatever ends a request takes it first.
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
