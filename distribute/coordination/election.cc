#include "distribute/coordination/election.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "core/clock.h"
#include "distribute/coordination/leased_wait.h"

namespace weir::coordination {
namespace {

constexpr absl::Duration kWithdrawal = absl::Seconds(1);

Leader AsLeader(const KeyValue& kv) { return {kv.key, kv.value, kv.create_revision}; }

bool CameEarlier(const KeyValue& a, const KeyValue& b) { return a.create_revision < b.create_revision; }

}  // namespace

absl::StatusOr<Leader> Election::Campaign(Lease& lease, const std::string& value, const CallOptions& options) {
  const std::string key = absl::StrFormat("%s/%x", name_, lease.id());
  LeasedWait wait(options, lease);
  absl::StatusOr<Leader> candidate = Enter(key, lease, value, wait.options());
  absl::Status status = candidate.status();
  if (status.ok()) status = AwaitTurn(*candidate, wait.options());
  if (status.ok()) return candidate;
  // The key belongs to this lease, even if the answer was lost. If this fails, it ends with the lease.
  store_
      .Commit({.deadline = MonotonicNow() + kWithdrawal},
              {.then = {Operation::Delete(Keys::Of(key))}, .repeatable = true})
      .IgnoreError();
  return wait.Explain(Annotate(std::move(status), absl::StrCat("Campaign in election ", name_)));
}

absl::StatusOr<Leader> Election::Enter(const std::string& key, Lease& lease, const std::string& value,
                                       const CallOptions& options) {
  ASSIGN_OR_RETURN(const TransactionResult result,
                   store_.Commit(options, {.conditions = {Condition::Absent(Keys::Of(key))},
                                           .then = {Operation::Put(key, value, lease.id())},
                                           .otherwise = {Operation::Get(Keys::Of(key))},
                                           .repeatable = true}));
  if (result.succeeded) return Leader{key, value, result.revision};
  const std::vector<KeyValue>& found = result.results[0].found;
  if (found.empty()) return errors::Internal("Key ", key, " is neither there nor absent");
  return Leader{key, found[0].value, found[0].create_revision};
}

absl::Status Election::AwaitTurn(const Leader& candidate, const CallOptions& options) {
  for (;;) {
    ASSIGN_OR_RETURN(const Store::Listing listing, store_.List(options, absl::StrCat(name_, "/")));
    const KeyValue* before = nullptr;
    bool own = false;
    for (const KeyValue& kv : listing.found) {
      own |= kv.key == candidate.key && kv.create_revision == candidate.revision;
      if (kv.create_revision < candidate.revision && (before == nullptr || CameEarlier(*before, kv))) before = &kv;
    }
    if (!own) return errors::FailedPrecondition("its key is gone: its lease ran out or was revoked");
    if (before == nullptr) return absl::OkStatus();
    // Watches only the predecessor, so that its end wakes one candidate instead of all; then checks the own key.
    ASSIGN_OR_RETURN(const std::unique_ptr<Watch> watch, store_.NewWatch(Keys::Of(before->key), listing.revision + 1));
    for (bool gone = false; !gone;) {
      absl::StatusOr<std::vector<Event>> events = watch->Next(options);
      if (absl::IsOutOfRange(events.status())) break;
      RETURN_IF_ERROR(events.status());
      gone = std::any_of(events->begin(), events->end(),
                         [](const Event& event) { return event.type == Event::Type::kDelete; });
    }
  }
}

absl::Status Election::Resign(const Leader& leader, const CallOptions& options) {
  return store_
      .Commit(
          options,
          {.conditions = {StillLeads(leader)}, .then = {Operation::Delete(Keys::Of(leader.key))}, .repeatable = true})
      .status();
}

absl::StatusOr<Leader> Election::Current(const CallOptions& options) {
  ASSIGN_OR_RETURN(const Store::Listing listing, store_.List(options, absl::StrCat(name_, "/")));
  if (listing.found.empty()) return errors::NotFound("Nobody leads in election ", name_);
  return AsLeader(*std::min_element(listing.found.begin(), listing.found.end(), CameEarlier));
}

absl::StatusOr<std::optional<Leader>> LeaderObserver::Next(const CallOptions& options) {
  for (;;) {
    RETURN_IF_ERROR(watch_ == nullptr ? Read(options) : Follow(options));
    const std::optional<Leader> leader = First();
    const int64_t revision = leader.has_value() ? leader->revision : 0;
    if (revision != std::exchange(reported_, revision)) return leader;
  }
}

absl::Status LeaderObserver::Read(const CallOptions& options) {
  ASSIGN_OR_RETURN(const Store::Listing listing, store_.List(options, prefix_));
  candidates_.clear();
  for (const KeyValue& kv : listing.found) candidates_[kv.create_revision] = kv;
  ASSIGN_OR_RETURN(watch_, store_.NewWatch(Keys::Under(prefix_), listing.revision + 1));
  return absl::OkStatus();
}

// Processes one event at a time, so that short-lived leaders are reported too.
absl::Status LeaderObserver::Follow(const CallOptions& options) {
  if (events_.empty()) {
    absl::StatusOr<std::vector<Event>> events = watch_->Next(options);
    if (absl::IsOutOfRange(events.status())) {
      watch_ = nullptr;
      return Read(options);
    }
    RETURN_IF_ERROR(events.status());
    events_.assign(events->rbegin(), events->rend());
  }
  const Event event = std::move(events_.back());
  events_.pop_back();
  if (event.type == Event::Type::kPut) {
    candidates_[event.kv.create_revision] = event.kv;
  } else {
    std::erase_if(candidates_, [&event](const auto& entry) { return entry.second.key == event.kv.key; });
  }
  return absl::OkStatus();
}

std::optional<Leader> LeaderObserver::First() const {
  if (candidates_.empty()) return std::nullopt;
  return AsLeader(candidates_.begin()->second);
}

}  // namespace weir::coordination
