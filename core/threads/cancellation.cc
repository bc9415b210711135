#include "core/threads/cancellation.h"

#include <utility>

namespace weir {

CancellationManager::CancellationManager(CancellationManager* parent) : parent_(parent) {
  if (parent == nullptr) return;
  parent_token_ = parent->Register([this] { StartCancel(parent_->status()); });
  if (parent_token_ == kInvalidToken) StartCancel(parent->status());
}

CancellationManager::~CancellationManager() {
  if (parent_ != nullptr && parent_token_ != kInvalidToken) parent_->Deregister(parent_token_);
}

void CancellationManager::StartCancel(absl::Status reason) {
  absl::flat_hash_map<Token, std::function<void()>> callbacks;
  {
    MutexLock lock(mu_);
    if (cancelled_.load(std::memory_order_relaxed)) return;
    reason_ = reason.ok() ? errors::Cancelled("The step was cancelled") : std::move(reason);
    cancelled_.store(true, std::memory_order_release);
    running_callbacks_ = true;
    canceller_ = std::this_thread::get_id();
    callbacks.swap(callbacks_);
  }
  for (auto& [token, callback] : callbacks) callback();
  callbacks.clear();
  MutexLock lock(mu_);
  running_callbacks_ = false;
  callbacks_done_.notify_all();
}

absl::Status CancellationManager::status() const {
  MutexLock lock(mu_);
  return reason_;
}

CancellationManager::Token CancellationManager::Register(std::function<void()> callback) {
  MutexLock lock(mu_);
  if (cancelled_.load(std::memory_order_relaxed)) return kInvalidToken;
  const Token token = next_token_++;
  callbacks_.emplace(token, std::move(callback));
  return token;
}

bool CancellationManager::Deregister(Token token) {
  std::function<void()> removed;  // destroyed after the lock is released
  MutexLock lock(mu_);
  if (auto it = callbacks_.find(token); it != callbacks_.end()) {
    removed = std::move(it->second);
    callbacks_.erase(it);
    return true;
  }
  // A callback that deregisters another one runs on the cancelling thread, which cannot wait for itself.
  while (running_callbacks_ && canceller_ != std::this_thread::get_id()) lock.Wait(callbacks_done_);
  return false;
}

bool CancellationManager::TryDeregister(Token token) {
  std::function<void()> removed;
  MutexLock lock(mu_);
  auto it = callbacks_.find(token);
  if (it == callbacks_.end()) return false;
  removed = std::move(it->second);
  callbacks_.erase(it);
  return true;
}

}  // namespace weir
