// What the tasks of a cluster agree on: keys with revisions, watches that miss nothing, leases. Barriers (barrier.h)
// and elections (election.h) stand on it. docs/coordination.md tells how to choose among the stores.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/cancellation.h"
#include "core/status.h"
#include "distribute/transport/worker_interface.h"

namespace weir::coordination {

using LeaseId = int64_t;
constexpr LeaseId kNoLease = 0;

// Every change of the store takes the next revision; all changes of one transaction have the same.
struct KeyValue {
  std::string key;
  std::string value;
  int64_t create_revision = 0;  // of the put that made the key
  int64_t mod_revision = 0;     // of the last put
  int64_t version = 0;          // puts since the key was made
  LeaseId lease = kNoLease;
};

// One key, or all that start with a prefix.
struct Keys {
  static Keys Of(absl::string_view key) { return {std::string(key), /*is_prefix=*/false}; }
  static Keys Under(absl::string_view prefix) { return {std::string(prefix), /*is_prefix=*/true}; }
  bool Contain(absl::string_view other) const;
  std::string ToString() const;  // for messages

  std::string key;
  bool is_prefix = false;
};

// Holds for every one of its keys. What is absent has revision 0 and no value.
struct Condition {
  enum class Kind { kCreatedAt, kModifiedAt, kValueIs };
  static Condition Absent(Keys keys) { return {Kind::kCreatedAt, std::move(keys)}; }
  static Condition CreatedAt(absl::string_view key, int64_t revision) {
    return {Kind::kCreatedAt, Keys::Of(key), revision};
  }
  static Condition ModifiedAt(absl::string_view key, int64_t revision) {
    return {Kind::kModifiedAt, Keys::Of(key), revision};
  }
  static Condition ValueIs(absl::string_view key, std::string value) {
    return {Kind::kValueIs, Keys::Of(key), 0, std::move(value)};
  }

  Kind kind;
  Keys keys;
  int64_t revision = 0;
  std::string value;
};

struct Operation {
  enum class Kind { kGet, kPut, kDelete };
  static Operation Get(Keys keys) { return {Kind::kGet, std::move(keys)}; }
  static Operation Put(absl::string_view key, std::string value, LeaseId lease = kNoLease) {
    return {Kind::kPut, Keys::Of(key), std::move(value), lease};
  }
  static Operation Delete(Keys keys) { return {Kind::kDelete, std::move(keys)}; }

  Kind kind;
  Keys keys;
  std::string value;
  LeaseId lease = kNoLease;
};

// If all conditions hold, `then` is done, else `otherwise`: in order, at once, as a whole.
struct Transaction {
  std::vector<Condition> conditions;
  std::vector<Operation> then;
  std::vector<Operation> otherwise;
  // Made twice it does no harm: when the answer is lost it is sent again, instead of an UNAVAILABLE that leaves open
  // whether it was made. Transactions that only read always are.
  bool repeatable = false;
};

// Of one operation.
struct OperationResult {
  std::vector<KeyValue> found;  // by a get, in the order of the keys
  int64_t deleted = 0;          // keys, by a deletion
};

struct TransactionResult {
  bool succeeded = false;  // the conditions held
  int64_t revision = 0;    // of the store afterwards
  std::vector<OperationResult> results;
};

struct Event {
  enum class Type { kPut, kDelete };
  Type type = Type::kPut;
  KeyValue kv;  // of a deletion: the key, and the revision of the deletion as mod_revision
};

// Events from one revision on, each once, in order, whatever happens to the connection meanwhile. Ends before its store
// does. For one thread at a time.
class Watch {
 public:
  virtual ~Watch() = default;

  // Waits for events: those of one or more whole revisions. After DEADLINE_EXCEEDED and CANCELLED the watch goes on
  // with the next call. OUT_OF_RANGE: what comes next was compacted before it could be delivered; read the keys again
  // and watch from there. That and all other errors are final.
  virtual absl::StatusOr<std::vector<Event>> Next(const CallOptions& options) = 0;
};

// Keys put with a lease are deleted when it is lost. It is kept alive in the background while this object lives. After
// its destruction it runs out by itself, within its time to live. Ends before its store does. Thread-safe.
class Lease {
 public:
  virtual ~Lease() = default;

  virtual LeaseId id() const = 0;
  virtual absl::Duration ttl() const = 0;  // may be more than what was asked for
  // Fires, with the reason, when the lease is revoked, has run out, or may have run out for all that is known. Its
  // callbacks must not destroy the lease.
  virtual CancellationManager& lost() = 0;
};

// Thread-safe. Calls block until they are done, their deadline passes (DEADLINE_EXCEEDED) or they are cancelled
// (CANCELLED); a store on other machines has a default for calls without deadline. UNAVAILABLE and DEADLINE_EXCEEDED of
// a transaction that is not repeatable leave open whether it was made.
class Store {
 public:
  // Of a transaction: operations in a branch, and bytes of all its keys and values.
  static constexpr int kMaxOperations = 128;
  static constexpr int64_t kMaxTransactionBytes = 1 << 20;

  virtual ~Store() = default;

  // INVALID_ARGUMENT when it has an empty key, is larger than the limits or writes a key twice; NOT_FOUND when a put
  // names a lease that is not there.
  virtual absl::StatusOr<TransactionResult> Commit(const CallOptions& options, const Transaction& transaction) = 0;
  // Events of revision `from` (1 or more, may be yet to come) and later. Does not wait for the store.
  virtual absl::StatusOr<std::unique_ptr<Watch>> NewWatch(Keys keys, int64_t from) = 0;
  // `ttl` is rounded up to whole seconds.
  virtual absl::StatusOr<std::unique_ptr<Lease>> GrantLease(const CallOptions& options, absl::Duration ttl) = 0;
  // Afterwards there is no such lease, nor was there one perhaps.
  virtual absl::Status RevokeLease(const CallOptions& options, LeaseId id) = 0;
  // Forgets events before `revision`. OUT_OF_RANGE when that is yet to come.
  virtual absl::Status Compact(const CallOptions& options, int64_t revision) = 0;

  // Commit for one operation.
  struct Listing {
    std::vector<KeyValue> found;
    int64_t revision = 0;  // watch from the next one to miss nothing
  };
  absl::StatusOr<KeyValue> Get(const CallOptions& options, absl::string_view key);  // NOT_FOUND: no such key
  absl::StatusOr<Listing> List(const CallOptions& options, absl::string_view prefix);
  // The revision of the put.
  absl::StatusOr<int64_t> Put(const CallOptions& options, absl::string_view key, std::string value,
                              LeaseId lease = kNoLease);
  // The number of keys deleted.
  absl::StatusOr<int64_t> Delete(const CallOptions& options, Keys keys);
  // Puts, if the key's mod_revision is `expected` (0: if there is none); gives the new one. ABORTED otherwise, telling
  // where the key is.
  absl::StatusOr<int64_t> CompareAndSwap(const CallOptions& options, absl::string_view key, int64_t expected,
                                         std::string value, LeaseId lease = kNoLease);
};

// For implementations: what Commit, NewWatch and GrantLease refuse everywhere.
absl::Status CheckTransaction(const Transaction& transaction);
absl::Status CheckWatch(const Keys& keys, int64_t from);
absl::StatusOr<int64_t> CheckedSeconds(absl::Duration ttl);
bool OnlyReads(const Transaction& transaction);
absl::Status CompactedError(const Keys& keys, int64_t wanted, int64_t compacted);

}  // namespace weir::coordination
