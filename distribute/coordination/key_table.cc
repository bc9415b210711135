#include "distribute/coordination/key_table.h"

#include <algorithm>
#include <utility>

namespace weir::coordination {
namespace {

int64_t BytesOf(const Event& event) { return sizeof(Event) + event.kv.key.size() + event.kv.value.size(); }

bool IsEarlier(const Event& event, int64_t revision) { return event.kv.mod_revision < revision; }

}  // namespace

absl::StatusOr<TransactionResult> KeyTable::Commit(const Transaction& transaction) {
  TransactionResult result;
  result.succeeded = std::all_of(transaction.conditions.begin(), transaction.conditions.end(),
                                 [this](const Condition& condition) { return Holds(condition); });
  const std::vector<Operation>& branch = result.succeeded ? transaction.then : transaction.otherwise;
  for (const Operation& operation : branch) {
    if (operation.kind == Operation::Kind::kPut && operation.lease != kNoLease && !HasLease(operation.lease)) {
      return errors::NotFound("There is no lease ", operation.lease, " for key ", operation.keys.ToString());
    }
  }
  const int64_t at = revision_ + 1;
  for (const Operation& operation : branch) result.results.push_back(Do(operation, at));
  result.revision = revision_;
  return result;
}

bool KeyTable::RemoveLease(LeaseId id) {
  auto lease = leases_.extract(id);
  if (lease.empty()) return false;
  const int64_t at = revision_ + 1;
  for (const std::string& key : lease.mapped()) Delete(Keys::Of(key), at);
  return true;
}

absl::Status KeyTable::Compact(int64_t revision) {
  if (revision > revision_) {
    return errors::OutOfRange("Cannot compact at revision ", revision, ": the store is at ", revision_);
  }
  while (!history_.empty() && IsEarlier(history_.front(), revision)) {
    history_bytes_ -= BytesOf(history_.front());
    history_.pop_front();
  }
  compacted_ = std::max(compacted_, revision);
  return absl::OkStatus();
}

std::vector<Event> KeyTable::EventsFrom(const Keys& keys, size_t max_events, int64_t* next) const {
  std::vector<Event> events;
  for (auto event = std::lower_bound(history_.begin(), history_.end(), *next, IsEarlier); event != history_.end();
       ++event) {
    const int64_t at = event->kv.mod_revision;
    if (at != *next && events.size() >= max_events) {
      *next = at;
      return events;
    }
    if (keys.Contain(event->kv.key)) events.push_back(*event);
    *next = at;
  }
  *next = std::max(*next, revision_ + 1);
  return events;
}

bool KeyTable::Holds(const Condition& condition) const {
  const auto holds = [&condition](const KeyValue& kv) {
    switch (condition.kind) {
      case Condition::Kind::kCreatedAt:
        return kv.create_revision == condition.revision;
      case Condition::Kind::kModifiedAt:
        return kv.mod_revision == condition.revision;
      case Condition::Kind::kValueIs:
        return kv.mod_revision != 0 && kv.value == condition.value;
    }
    return false;
  };
  const auto [first, last] = Range(condition.keys);
  if (first == last) return holds(KeyValue());
  return std::all_of(first, last, [&holds](const auto& entry) { return holds(entry.second); });
}

std::pair<KeyTable::Table::const_iterator, KeyTable::Table::const_iterator> KeyTable::Range(const Keys& keys) const {
  auto first = keys_.lower_bound(keys.key);
  auto last = first;
  while (last != keys_.end() && keys.Contain(last->first)) ++last;
  return {first, last};
}

OperationResult KeyTable::Do(const Operation& operation, int64_t at) {
  OperationResult result;
  switch (operation.kind) {
    case Operation::Kind::kGet: {
      const auto [first, last] = Range(operation.keys);
      for (auto it = first; it != last; ++it) result.found.push_back(it->second);
      break;
    }
    case Operation::Kind::kPut:
      Put(operation, at);
      break;
    case Operation::Kind::kDelete:
      result.deleted = Delete(operation.keys, at);
      break;
  }
  return result;
}

void KeyTable::Put(const Operation& operation, int64_t at) {
  KeyValue& kv = keys_[operation.keys.key];
  if (kv.version == 0) {
    kv.key = operation.keys.key;
    kv.create_revision = at;
  }
  if (kv.lease != operation.lease) {
    if (kv.lease != kNoLease) leases_[kv.lease].erase(kv.key);
    if (operation.lease != kNoLease) leases_[operation.lease].insert(kv.key);
  }
  kv.value = operation.value;
  kv.mod_revision = at;
  ++kv.version;
  kv.lease = operation.lease;
  Record({Event::Type::kPut, kv});
}

int64_t KeyTable::Delete(const Keys& keys, int64_t at) {
  const auto [first, last] = Range(keys);
  int64_t deleted = 0;
  for (auto it = first; it != last; ++it) {
    // A lease that is being removed is no longer in the table.
    if (auto lease = leases_.find(it->second.lease); lease != leases_.end()) lease->second.erase(it->first);
    Record({Event::Type::kDelete, {.key = it->first, .mod_revision = at}});
    ++deleted;
  }
  keys_.erase(first, last);
  return deleted;
}

void KeyTable::Record(Event event) {
  revision_ = event.kv.mod_revision;
  history_bytes_ += BytesOf(event);
  history_.push_back(std::move(event));
  // The current revision stays complete.
  while (history_bytes_ > max_history_bytes_ && IsEarlier(history_.front(), revision_)) {
    history_bytes_ -= BytesOf(history_.front());
    compacted_ = history_.front().kv.mod_revision + 1;
    history_.pop_front();
  }
}

}  // namespace weir::coordination
