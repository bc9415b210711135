#include "distribute/collective/message_exchange.h"

#include <optional>

#include "absl/strings/str_cat.h"

namespace weir {

void MessageExchange::NameMembers(std::vector<std::string> members) {
  MutexLock lock(names_mu_);
  members_ = std::move(members);
}

std::string MessageExchange::NameOf(int rank) const {
  MutexLock lock(names_mu_);
  return rank >= 0 && rank < members_.size() ? members_[rank] : absl::StrCat("rank ", rank);
}

size_t MessageExchange::num_members() const {
  MutexLock lock(names_mu_);
  return members_.size();
}

absl::Status MessageExchange::StatusOf(int64_t sequence) const {
  if (!status_.ok()) return status_;
  const auto it = calls_.find(sequence);
  return it == calls_.end() ? absl::OkStatus() : it->second.status;
}

void MessageExchange::Fail(Wanted wanted, const absl::Status& status) {
  if (wanted.cancellation != nullptr) wanted.cancellation->TryDeregister(wanted.token);
  wanted.received(status);
}

void MessageExchange::Fail(Call call, const absl::Status& status) {
  for (auto& [key, offered] : call.offered) offered.sent(status);
  for (auto& [key, wanted] : call.wanted) Fail(std::move(wanted), status);
}

void MessageExchange::Begin(int rank, int64_t sequence, const CallSignature& signature) {
  absl::Status mismatch;
  {
    MutexLock lock(mu_);
    Call& call = calls_[sequence];
    call.begun[rank] = signature;
    for (const auto& [key, wanted] : call.wanted) {
      if (key.from != rank || wanted.signature == signature) continue;
      mismatch = SignatureMismatch(instance_, NameOf(key.to), wanted.signature, NameOf(rank), signature);
      break;
    }
  }
  if (!mismatch.ok()) Abort(sequence, mismatch);
}

void MessageExchange::End(int64_t sequence) {
  const size_t size = num_members();
  MutexLock lock(mu_);
  const auto it = calls_.find(sequence);
  if (it != calls_.end() && ++it->second.num_ended == size) calls_.erase(it);
}

void MessageExchange::Deliver(const Key& key, Offered offered, Wanted wanted) {
  if (wanted.cancellation != nullptr) wanted.cancellation->TryDeregister(wanted.token);
  if (offered.bytes.size() != wanted.num_bytes) {
    const absl::Status status =
        errors::Internal("A message of ", offered.bytes.size(), " bytes from ", NameOf(key.from), " to ",
                         NameOf(key.to), ", which expects ", wanted.num_bytes);
    offered.sent(status);
    return wanted.received(status);
  }
  wanted.received(ReceivedBytes(offered.bytes, [sent = std::move(offered.sent)]() mutable { sent(absl::OkStatus()); }));
}

void MessageExchange::Offer(const Key& key, absl::Span<const char> bytes, Communicator::SentCallback sent) {
  absl::Status status;
  std::optional<Wanted> match;
  Offered offered{bytes, std::move(sent)};
  {
    MutexLock lock(mu_);
    status = StatusOf(key.tag.sequence);
    if (status.ok()) {
      Call& call = calls_[key.tag.sequence];
      const auto it = call.wanted.find(key);
      if (it != call.wanted.end()) {
        match = std::move(it->second);
        call.wanted.erase(it);
      } else if (call.offered.contains(key)) {
        status = errors::Internal("A message from ", NameOf(key.from), " to ", NameOf(key.to), " was sent twice");
      } else {
        call.offered.emplace(key, std::move(offered));
        return;
      }
    }
  }
  if (!status.ok()) return offered.sent(status);
  Deliver(key, std::move(offered), *std::move(match));
}

void MessageExchange::Take(const Key& key, const CallSignature& signature, int64_t num_bytes,
                           CancellationManager* cancellation, Communicator::ReceivedCallback received) {
  Wanted wanted{
      .signature = signature, .num_bytes = num_bytes, .received = std::move(received), .cancellation = cancellation};
  if (cancellation != nullptr) {
    wanted.token = cancellation->Register([weak = weak_from_this(), key] {
      if (auto self = weak.lock()) self->Forget(key);
    });
    if (wanted.token == CancellationManager::kInvalidToken) return wanted.received(cancellation->status());
  }
  absl::Status status;
  bool is_mismatch = false;
  std::optional<Offered> match;
  {
    MutexLock lock(mu_);
    status = StatusOf(key.tag.sequence);
    if (status.ok()) {
      Call& call = calls_[key.tag.sequence];
      const auto begun = call.begun.find(key.from);
      if (begun != call.begun.end() && !(begun->second == signature)) {
        is_mismatch = true;
        status = SignatureMismatch(instance_, NameOf(key.from), begun->second, NameOf(key.to), signature);
      } else if (const auto it = call.offered.find(key); it != call.offered.end()) {
        match = std::move(it->second);
        call.offered.erase(it);
      } else if (call.wanted.contains(key)) {
        status = errors::Aborted("A message from ", NameOf(key.from), " to ", NameOf(key.to), " was asked for twice");
      } else if (cancellation == nullptr || !cancellation->IsCancelled()) {
        call.wanted.emplace(key, std::exchange(wanted, {}));
      } else {
        status = cancellation->status();
      }
    }
  }
  if (is_mismatch) Abort(key.tag.sequence, status);
  if (!status.ok()) return Fail(std::move(wanted), status);
  if (match) Deliver(key, *std::move(match), std::move(wanted));
}

void MessageExchange::Forget(const Key& key) {
  std::optional<Wanted> gone;
  {
    MutexLock lock(mu_);
    const auto call = calls_.find(key.tag.sequence);
    if (call == calls_.end()) return;
    const auto it = call->second.wanted.find(key);
    if (it == call->second.wanted.end()) return;
    gone = std::move(it->second);
    call->second.wanted.erase(it);
  }
  gone->received(errors::Cancelled("The receive from ", NameOf(key.from),
                                   " was cancelled: ", gone->cancellation->status().message()));
}

void MessageExchange::Abort(int64_t sequence, const absl::Status& status) {
  Call ended;
  {
    MutexLock lock(mu_);
    Call& call = calls_[sequence];
    if (!call.status.ok()) return;
    std::swap(call, ended);
    call.status = status;
    call.num_ended = ended.num_ended;
  }
  Fail(std::move(ended), status);
}

void MessageExchange::AbortAll(const absl::Status& status) {
  absl::flat_hash_map<int64_t, Call> ended;
  {
    MutexLock lock(mu_);
    if (!status_.ok()) return;
    status_ = status;
    ended.swap(calls_);
  }
  for (auto& [sequence, call] : ended) Fail(std::move(call), status);
}

}  // namespace weir
