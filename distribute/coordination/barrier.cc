#include "distribute/coordination/barrier.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "core/clock.h"
#include "core/random_bits.h"
#include "distribute/coordination/leased_wait.h"

namespace weir::coordination {
namespace {

constexpr absl::Duration kLeaving = absl::Seconds(1);
constexpr size_t kMaxNamed = 8;
constexpr size_t kMaxOutcome = 2048;
constexpr char kOpen[] = "open";

std::string RandomToken() { return absl::StrFormat("%016x", RandomBits()); }

std::string Named(const std::vector<std::string>& names) {
  if (names.size() <= kMaxNamed) return absl::StrJoin(names, ", ");
  return absl::StrCat(absl::StrJoin(names.begin(), names.begin() + kMaxNamed, ", "), " and ", names.size() - kMaxNamed,
                      " more");
}

absl::Status Check(const BarrierOptions& barrier) {
  std::vector<std::string> names = barrier.participants;
  std::sort(names.begin(), names.end());
  if (barrier.name.empty()) return errors::InvalidArgument("A barrier has no name");
  if (auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end()) {
    return errors::InvalidArgument("Barrier ", barrier.name, " has two participants named ", *twice);
  }
  if (!std::binary_search(names.begin(), names.end(), barrier.self)) {
    return errors::InvalidArgument("Barrier ", barrier.name, " has no participant ", barrier.self);
  }
  return absl::OkStatus();
}

// One participant's visit. Keys: <name>/arrived/<participant>, with its lease and a token of this visit, and
// <name>/outcome, written once a round, without a lease. The outcome stays until all participants have left, and keeps
// new ones from entering.
class Visit {
 public:
  Visit(Store& store, Lease& lease, const BarrierOptions& barrier)
      : store_(store),
        lease_(lease),
        barrier_(barrier),
        token_(RandomToken()),
        arrived_(absl::StrCat(barrier.name, "/arrived/")),
        own_(absl::StrCat(arrived_, barrier.self)),
        outcome_(absl::StrCat(barrier.name, "/outcome")) {}

  absl::Status Run(const CallOptions& options) {
    absl::Status status = Enter(options);
    if (status.ok()) status = AwaitOutcome(options);
    const CallOptions goodbye{.deadline = MonotonicNow() + kLeaving};
    if (decided_.empty()) status = GiveUp(goodbye, status);
    Leave(goodbye);
    if (decided_.empty()) return status;
    if (decided_ == kOpen) return absl::OkStatus();
    return status.ok() ? errors::Aborted(decided_) : absl::Status(status.code(), decided_);
  }

 private:
  absl::Status Enter(const CallOptions& options);
  absl::Status AwaitEvent(const CallOptions& options, int64_t from);
  absl::Status ClearTheDoor(const CallOptions& options, const TransactionResult& seen, bool* cleared);
  absl::Status AwaitOutcome(const CallOptions& options);
  absl::Status Follow(const CallOptions& options, int64_t from);
  absl::Status Look(const CallOptions& options, int64_t* revision);
  absl::Status Lost(const CallOptions& options, const std::string& key);
  absl::Status Decide(const CallOptions& options, std::string outcome);
  absl::Status GiveUp(const CallOptions& options, const absl::Status& why);
  void Leave(const CallOptions& options);
  absl::Status DropOutcome(const CallOptions& options);
  std::vector<std::string> Missing() const;

  Operation GetAll() const { return Operation::Get(Keys::Under(absl::StrCat(barrier_.name, "/"))); }

  Store& store_;
  Lease& lease_;
  const BarrierOptions& barrier_;
  const std::string token_, arrived_, own_, outcome_;
  std::map<std::string, int64_t> present_;  // key: the revision at which it appeared
  int64_t entered_ = 0;                     // the revision at which this one appeared
  std::string decided_;
};

absl::Status Visit::Enter(const CallOptions& options) {
  for (;;) {
    ASSIGN_OR_RETURN(const TransactionResult result,
                     store_.Commit(options, {.conditions = {Condition::Absent(Keys::Of(outcome_)),
                                                            Condition::Absent(Keys::Of(own_))},
                                             .then = {Operation::Put(own_, token_, lease_.id()), GetAll()},
                                             .otherwise = {GetAll()},
                                             .repeatable = true}));
    const std::vector<KeyValue>& found = result.results.back().found;
    auto own = std::find_if(found.begin(), found.end(), [this](const KeyValue& kv) { return kv.key == own_; });
    if (own != found.end() && own->value == token_) {
      entered_ = own->create_revision;
      for (const KeyValue& kv : found) {
        if (absl::StartsWith(kv.key, arrived_)) present_.emplace(kv.key, kv.create_revision);
      }
      return absl::OkStatus();
    }
    bool cleared = false;
    RETURN_IF_ERROR(ClearTheDoor(options, result, &cleared));
    if (!cleared) RETURN_IF_ERROR(AwaitEvent(options, result.revision + 1));
  }
}

// Removes an old outcome that no remaining participant would remove.
absl::Status Visit::ClearTheDoor(const CallOptions& options, const TransactionResult& seen, bool* cleared) {
  bool empty = true;
  for (const KeyValue& kv : seen.results.back().found) {
    if (absl::StartsWith(kv.key, arrived_)) empty = false;
    // An earlier visit of the same task that could not clean up.
    if (kv.key != own_ || kv.lease != lease_.id()) continue;
    *cleared = true;
    RETURN_IF_ERROR(store_
                        .Commit(options, {.conditions = {Condition::CreatedAt(own_, kv.create_revision)},
                                          .then = {Operation::Delete(Keys::Of(own_))},
                                          .repeatable = true})
                        .status());
  }
  if (!empty) return absl::OkStatus();
  *cleared = true;
  return DropOutcome(options);
}

absl::Status Visit::AwaitEvent(const CallOptions& options, int64_t from) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Watch> watch,
                   store_.NewWatch(Keys::Under(absl::StrCat(barrier_.name, "/")), from));
  const absl::Status status = watch->Next(options).status();
  return absl::IsOutOfRange(status) ? absl::OkStatus() : status;
}

absl::Status Visit::AwaitOutcome(const CallOptions& options) {
  while (decided_.empty()) {
    int64_t revision;
    RETURN_IF_ERROR(Look(options, &revision));
    if (decided_.empty()) {
      if (absl::Status status = Follow(options, revision + 1); !status.ok() && !absl::IsOutOfRange(status)) {
        return status;
      }
    }
  }
  return absl::OkStatus();
}

// Reads the present participants. Those that have disappeared are lost.
absl::Status Visit::Look(const CallOptions& options, int64_t* revision) {
  ASSIGN_OR_RETURN(const TransactionResult result, store_.Commit(options, {.then = {GetAll()}}));
  *revision = result.revision;
  std::map<std::string, int64_t> before = std::exchange(present_, {});
  for (const KeyValue& kv : result.results[0].found) {
    if (kv.key == outcome_ && kv.create_revision > entered_) decided_ = kv.value.substr(0, kMaxOutcome);
    if (absl::StartsWith(kv.key, arrived_)) present_.emplace(kv.key, kv.create_revision);
  }
  for (const auto& [key, came] : before) {
    auto found = present_.find(key);
    if (decided_.empty() && (found == present_.end() || found->second != came)) RETURN_IF_ERROR(Lost(options, key));
  }
  if (decided_.empty() && Missing().empty()) return Decide(options, kOpen);
  return absl::OkStatus();
}

// Processes events until there is an outcome.
absl::Status Visit::Follow(const CallOptions& options, int64_t from) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Watch> watch,
                   store_.NewWatch(Keys::Under(absl::StrCat(barrier_.name, "/")), from));
  while (decided_.empty()) {
    ASSIGN_OR_RETURN(const std::vector<Event> events, watch->Next(options));
    for (const Event& event : events) {
      if (!decided_.empty()) break;
      const KeyValue& kv = event.kv;
      if (event.type == Event::Type::kPut && kv.key == outcome_) {
        decided_ = kv.value.substr(0, kMaxOutcome);
      } else if (event.type == Event::Type::kPut && absl::StartsWith(kv.key, arrived_)) {
        present_.emplace(kv.key, kv.create_revision);
        if (Missing().empty()) RETURN_IF_ERROR(Decide(options, kOpen));
      } else if (event.type == Event::Type::kDelete && present_.erase(kv.key) > 0) {
        RETURN_IF_ERROR(Lost(options, kv.key));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status Visit::Lost(const CallOptions& options, const std::string& key) {
  if (key == own_) {
    return errors::FailedPrecondition("its key is gone: its lease ran out or was revoked");
  }
  return Decide(options, absl::StrCat("Barrier ", barrier_.name, ": ", absl::StripPrefix(key, arrived_),
                                      " was lost while the others waited: its lease ran out or was revoked"));
}

// Writes the outcome, or reads the existing one.
absl::Status Visit::Decide(const CallOptions& options, std::string outcome) {
  ASSIGN_OR_RETURN(const TransactionResult result,
                   store_.Commit(options, {.conditions = {Condition::Absent(Keys::Of(outcome_)),
                                                          Condition::CreatedAt(own_, entered_)},
                                           .then = {Operation::Put(outcome_, outcome.substr(0, kMaxOutcome))},
                                           .otherwise = {Operation::Get(Keys::Of(outcome_))},
                                           .repeatable = true}));
  if (result.succeeded) {
    decided_ = std::move(outcome);
  } else if (const std::vector<KeyValue>& found = result.results[0].found; !found.empty()) {
    decided_ = found[0].value.substr(0, kMaxOutcome);
  } else {
    return Lost(options, own_);
  }
  return absl::OkStatus();
}

absl::Status Visit::GiveUp(const CallOptions& options, const absl::Status& why) {
  if (entered_ == 0) {
    return absl::Status(
        why.code(), absl::StrCat("Barrier ", barrier_.name, ": ", barrier_.self, " could not come in (", why.message(),
                                 "): the last round may not be over, or another has its name"));
  }
  const std::vector<std::string> missing = Missing();
  std::string text = absl::StrCat("Barrier ", barrier_.name, ": ", barrier_.self, " gave up (",
                                  absl::IsDeadlineExceeded(why) ? "its deadline passed" : why.message(), ")");
  if (!missing.empty()) absl::StrAppend(&text, "; missing: ", Named(missing));
  // If this fails, the loss of this participant's key notifies the others.
  const absl::Status written = Decide(options, text);
  return absl::Status(why.code(), written.ok() ? text : absl::StrCat(text, "; ", written.message()));
}

// Keys that cannot be deleted now end with the lease or with the next visit. The entry may have succeeded without an
// answer.
void Visit::Leave(const CallOptions& options) {
  store_
      .Commit(options, {.conditions = {Condition::ValueIs(own_, token_)},
                        .then = {Operation::Delete(Keys::Of(own_))},
                        .repeatable = true})
      .IgnoreError();
  DropOutcome(options).IgnoreError();
}

// If all participants have left.
absl::Status Visit::DropOutcome(const CallOptions& options) {
  return store_
      .Commit(options, {.conditions = {Condition::Absent(Keys::Under(arrived_))},
                        .then = {Operation::Delete(Keys::Of(outcome_))},
                        .repeatable = true})
      .status();
}

std::vector<std::string> Visit::Missing() const {
  std::vector<std::string> missing;
  for (const std::string& name : barrier_.participants) {
    if (!present_.contains(absl::StrCat(arrived_, name))) missing.push_back(name);
  }
  return missing;
}

}  // namespace

absl::Status AwaitBarrier(Store& store, Lease& lease, const BarrierOptions& barrier, const CallOptions& options) {
  RETURN_IF_ERROR(Check(barrier));
  LeasedWait wait(options, lease);
  return wait.Explain(Visit(store, lease, barrier).Run(wait.options()));
}

}  // namespace weir::coordination
