// The tasks' shared state: keys with revisions, watches that miss nothing, leases. Barriers (barrier.h) and elections
// (election.h) are built on it. docs/coordination.md says how to choose a store.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/status.h"
#include "core/threads/cancellation.h"
#include "distribute/transport/worker_interface.h"

namespace weir::coordination {

using LeaseId = int64_t;
constexpr LeaseId kNoLease = 0;

// Every change of the store gets the next revision; all changes of one transaction share it.
struct KeyValue {
  std::string key;
  std::string value;
  int64_t create_revision = 0;  // of the put that created the key
  int64_t mod_revision = 0;     // of the last put
  int64_t version = 0;          // puts since the key was created
  LeaseId lease = kNoLease;
};

// One key, or all keys with a prefix.
struct Keys {
  static Keys Of(absl::string_view key) { return {std::string(key), /*is_prefix=*/false}; }
  static Keys Under(absl::string_view prefix) { return {std::string(prefix), /*is_prefix=*/true}; }
  bool Contain(absl::string_view other) const;
  std::string ToString() const;  // for messages

  std::string key;
  bool is_prefix = false;
};

// Must hold for each of its keys. An absent key has revision 0 and no value.
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

// Executes `then` if all conditions hold, else `otherwise`: in order and atomically.
struct Transaction {
  std::vector<Condition> conditions;
  std::vector<Operation> then;
  std::vector<Operation> otherwise;
  // True if executing it twice does no harm: it is sent again when an answer is lost, instead of ending with
  // UNAVAILABLE. Read-only transactions are always repeatable.
  bool repeatable = false;
};

// The result of one operation.
struct OperationResult {
  std::vector<KeyValue> found;  // by a get, in key order
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
  KeyValue kv;  // for a deletion: the key, and the deletion's revision as mod_revision
};

// Delivers events from one revision on, each once and in order, across reconnections. Destroyed before its store. For
// one thread at a time.
class Watch {
 public:
  virtual ~Watch() = default;

  // Waits for the events of one or more whole revisions. After DEADLINE_EXCEEDED or CANCELLED the next call continues.
  // OUT_OF_RANGE: the next events were compacted before they were delivered; read the keys again and watch from there.
  // That and all other errors are final.
  virtual absl::StatusOr<std::vector<Event>> Next(const CallOptions& options) = 0;
};

// Keys put with a lease are deleted when it is lost. The lease is kept alive in the background while this object lives,
// and then expires within its time to live. Destroyed before its store. Thread-safe.
class Lease {
 public:
  virtual ~Lease() = default;

  virtual LeaseId id() const = 0;
  virtual absl::Duration ttl() const = 0;  // may be longer than requested
  // Fires, with the reason, when the lease is revoked, has expired, or may have expired. Its callbacks must not destroy
  // the lease.
  virtual CancellationManager& lost() = 0;
};

// Thread-safe.
// - Calls block until they are done, reach their deadline (DEADLINE_EXCEEDED) or are cancelled (CANCELLED). A remote
//   store has a default deadline.
// - After UNAVAILABLE or DEADLINE_EXCEEDED, a transaction that is not repeatable may or may not have been executed.
class Store {
 public:
  // Limits of a transaction: operations in a branch, and bytes of all its keys and values.
  static constexpr int kMaxOperations = 128;
  static constexpr int64_t kMaxTransactionBytes = 1 << 20;

  virtual ~Store() = default;

  // INVALID_ARGUMENT if it has an empty key, exceeds the limits or writes a key twice; NOT_FOUND if a put names an
  // unknown lease.
  virtual absl::StatusOr<TransactionResult> Commit(const CallOptions& options, const Transaction& transaction) = 0;
  // Events of revision `from` (1 or more, perhaps in the future) and later. Does not wait for the store.
  virtual absl::StatusOr<std::unique_ptr<Watch>> NewWatch(Keys keys, int64_t from) = 0;
  // `ttl` is rounded up to whole seconds.
  virtual absl::StatusOr<std::unique_ptr<Lease>> GrantLease(const CallOptions& options, absl::Duration ttl) = 0;
  // Afterwards the lease does not exist; OK even if it did not exist before.
  virtual absl::Status RevokeLease(const CallOptions& options, LeaseId id) = 0;
  // Drops events before `revision`. OUT_OF_RANGE for a future revision.
  virtual absl::Status Compact(const CallOptions& options, int64_t revision) = 0;

  // Commit for one operation.
  struct Listing {
    std::vector<KeyValue> found;
    int64_t revision = 0;  // watch from the next one
  };
  absl::StatusOr<KeyValue> Get(const CallOptions& options, absl::string_view key);  // NOT_FOUND: no such key
  absl::StatusOr<Listing> List(const CallOptions& options, absl::string_view prefix);
  // Returns the put's revision.
  absl::StatusOr<int64_t> Put(const CallOptions& options, absl::string_view key, std::string value,
                              LeaseId lease = kNoLease);
  // Returns the number of deleted keys.
  absl::StatusOr<int64_t> Delete(const CallOptions& options, Keys keys);
  // Puts the value if the key's mod_revision is `expected` (0: no such key) and returns the new one. ABORTED otherwise,
  // with the key's revision.
  absl::StatusOr<int64_t> CompareAndSwap(const CallOptions& options, absl::string_view key, int64_t expected,
                                         std::string value, LeaseId lease = kNoLease);
};

// For implementations: the checks of Commit, NewWatch and GrantLease.
absl::Status CheckTransaction(const Transaction& transaction);
absl::Status CheckWatch(const Keys& keys, int64_t from);
absl::StatusOr<int64_t> CheckedSeconds(absl::Duration ttl);
bool OnlyReads(const Transaction& transaction);
absl::Status CompactedError(const Keys& keys, int64_t wanted, int64_t compacted);

}  // namespace weir::coordination
