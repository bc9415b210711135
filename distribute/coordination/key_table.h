// Keys, their revisions and their history, in memory.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "distribute/coordination/store.h"

namespace weir::coordination {

// Not thread-safe. Revisions begin at 1, the empty store, as in etcd.
class KeyTable {
 public:
  // Larger history is compacted.
  explicit KeyTable(int64_t max_history_bytes) : max_history_bytes_(max_history_bytes) {}

  int64_t revision() const { return revision_; }
  int64_t compacted() const { return compacted_; }  // events from this revision on are kept

  // `transaction` has passed CheckTransaction. NOT_FOUND, without any effect, if a put names an unknown lease.
  absl::StatusOr<TransactionResult> Commit(const Transaction& transaction);
  void AddLease(LeaseId id) { leases_.try_emplace(id); }
  bool HasLease(LeaseId id) const { return leases_.contains(id); }
  // Deletes the lease's keys, at one revision. False if there is no such lease.
  bool RemoveLease(LeaseId id);
  absl::Status Compact(int64_t revision);

  // Returns events of `keys` from revision `*next` on, in whole revisions and about `max_events` at most, and advances
  // `*next` to the first revision not examined.
  std::vector<Event> EventsFrom(const Keys& keys, size_t max_events, int64_t* next) const;

 private:
  using Table = std::map<std::string, KeyValue, std::less<>>;

  bool Holds(const Condition& condition) const;
  std::pair<Table::const_iterator, Table::const_iterator> Range(const Keys& keys) const;
  OperationResult Do(const Operation& operation, int64_t at);
  void Put(const Operation& operation, int64_t at);
  int64_t Delete(const Keys& keys, int64_t at);
  void Record(Event event);

  const int64_t max_history_bytes_;
  int64_t revision_ = 1;
  int64_t compacted_ = 1;
  int64_t history_bytes_ = 0;
  Table keys_;
  std::deque<Event> history_;  // by revision
  absl::flat_hash_map<LeaseId, std::set<std::string>> leases_;
};

}  // namespace weir::coordination
