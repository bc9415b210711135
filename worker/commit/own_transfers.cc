#include "worker/commit/own_transfers.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace weir {
namespace {

// Without frame and iteration.
absl::string_view PrefixOf(absl::string_view key) { return key.substr(0, key.rfind(';')); }

}  // namespace

// Its callback runs once.
struct OwnTransfers::Pending {
  Mutex mu;
  DoneCallback done GUARDED_BY(mu);

  void End(absl::StatusOr<Received> received) {
    DoneCallback taken;
    {
      MutexLock lock(mu);
      taken = std::exchange(done, nullptr);
    }
    if (taken != nullptr) taken(std::move(received));
  }
};

OwnTransfers::OwnTransfers(absl::string_view task, std::shared_ptr<Rendezvous> others)
    : devices_(absl::StrCat(task, "/device:")), others_(std::move(others)) {}

// "source;incarnation;destination;…". A key in another form is left to the others.
bool OwnTransfers::IsOwn(absl::string_view key) const {
  const size_t incarnation = key.find(';') + 1;
  const size_t destination = key.find(';', incarnation) + 1;
  return absl::StartsWith(key, devices_) && absl::StartsWith(key.substr(destination), devices_);
}

absl::Status OwnTransfers::Send(absl::string_view key, Tensor tensor, bool is_dead) {
  return (IsOwn(key) ? *own_ : *others_).Send(key, std::move(tensor), is_dead);
}

void OwnTransfers::RecvAsync(absl::string_view key, const Args& args, DoneCallback done) {
  if (!IsOwn(key)) return others_->RecvAsync(key, args, std::move(done));
  const std::string prefix(PrefixOf(key));
  auto pending = std::make_shared<Pending>();
  {
    MutexLock lock(pending->mu);
    pending->done = std::move(done);
  }
  int64_t number;
  absl::Status not_sent;
  {
    MutexLock lock(mu_);
    number = next_pending_++;
    pending_[prefix].emplace(number, pending);
    if (const auto known = not_sent_.find(prefix); known != not_sent_.end()) not_sent = known->second;
  }
  own_->RecvAsync(key, args, [this, prefix, number, pending](absl::StatusOr<Received> received) {
    {
      MutexLock lock(mu_);
      if (const auto of_prefix = pending_.find(prefix); of_prefix != pending_.end()) of_prefix->second.erase(number);
    }
    pending->End(std::move(received));
  });
  if (!not_sent.ok()) pending->End(std::move(not_sent));  // unless it was sent before
}

void OwnTransfers::StartAbort(const absl::Status& status) {
  own_->StartAbort(status);
  others_->StartAbort(status);
}

void OwnTransfers::WillNotSend(absl::string_view prefix, const absl::Status& reason) {
  absl::flat_hash_map<int64_t, std::shared_ptr<Pending>> ended;
  {
    MutexLock lock(mu_);
    not_sent_.try_emplace(prefix, reason);
    if (const auto of_prefix = pending_.find(prefix); of_prefix != pending_.end()) ended.swap(of_prefix->second);
  }
  for (const auto& [number, pending] : ended) pending->End(reason);
}

}  // namespace weir
