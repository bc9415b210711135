#include "distribute/coordination/store.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"

namespace weir::coordination {
namespace {

constexpr int64_t kMaxLeaseSeconds = 365 * 24 * 3600;

int64_t BytesOf(const Transaction& transaction) {
  int64_t bytes = 0;
  for (const Condition& condition : transaction.conditions) {
    bytes += condition.keys.key.size() + condition.value.size();
  }
  for (const auto* branch : {&transaction.then, &transaction.otherwise}) {
    for (const Operation& operation : *branch) bytes += operation.keys.key.size() + operation.value.size();
  }
  return bytes;
}

absl::Status CheckKeys(const Keys& keys) {
  if (keys.key.empty() && !keys.is_prefix) return errors::InvalidArgument("A key is empty");
  return absl::OkStatus();
}

// A branch may write a key only once if it puts it.
absl::Status CheckBranch(const std::vector<Operation>& branch) {
  if (branch.size() > Store::kMaxOperations) {
    return errors::InvalidArgument("A transaction has ", branch.size(), " operations; at most ", Store::kMaxOperations,
                                   " are allowed");
  }
  std::vector<std::string> puts;
  for (const Operation& operation : branch) {
    RETURN_IF_ERROR(CheckKeys(operation.keys));
    if (operation.kind != Operation::Kind::kPut) continue;
    if (operation.keys.is_prefix) return errors::InvalidArgument("A put is for one key, not for a prefix");
    puts.push_back(operation.keys.key);
  }
  std::sort(puts.begin(), puts.end());
  auto twice = std::adjacent_find(puts.begin(), puts.end());
  for (const Operation& operation : branch) {
    if (twice != puts.end() || operation.kind != Operation::Kind::kDelete) continue;
    // The first put key that the deletion may cover; keys with a common prefix are adjacent.
    auto first = std::lower_bound(puts.begin(), puts.end(), operation.keys.key);
    if (first != puts.end() && operation.keys.Contain(*first)) twice = first;
  }
  if (twice == puts.end()) return absl::OkStatus();
  return errors::InvalidArgument("A transaction writes key ", Keys::Of(*twice).ToString(), " twice");
}

}  // namespace

bool Keys::Contain(absl::string_view other) const { return is_prefix ? absl::StartsWith(other, key) : other == key; }

std::string Keys::ToString() const {
  const std::string text = absl::CHexEscape(key.substr(0, 256));
  return is_prefix ? absl::StrCat(text, "*") : text;
}

absl::Status CheckTransaction(const Transaction& transaction) {
  if (transaction.conditions.size() > Store::kMaxOperations) {
    return errors::InvalidArgument("A transaction has ", transaction.conditions.size(), " conditions; at most ",
                                   Store::kMaxOperations, " are allowed");
  }
  for (const Condition& condition : transaction.conditions) RETURN_IF_ERROR(CheckKeys(condition.keys));
  RETURN_IF_ERROR(CheckBranch(transaction.then));
  RETURN_IF_ERROR(CheckBranch(transaction.otherwise));
  if (const int64_t bytes = BytesOf(transaction); bytes > Store::kMaxTransactionBytes) {
    return errors::InvalidArgument("A transaction has ", bytes, " bytes of keys and values; at most ",
                                   Store::kMaxTransactionBytes, " are allowed");
  }
  return absl::OkStatus();
}

absl::Status CheckWatch(const Keys& keys, int64_t from) {
  RETURN_IF_ERROR(CheckKeys(keys));
  if (from < 1) return errors::InvalidArgument("A watch begins at revision ", from, "; the first one is 1");
  return absl::OkStatus();
}

absl::StatusOr<int64_t> CheckedSeconds(absl::Duration ttl) {
  const int64_t seconds = absl::ToInt64Seconds(absl::Ceil(ttl, absl::Seconds(1)));
  if (seconds < 1 || seconds > kMaxLeaseSeconds) {
    return errors::InvalidArgument("A lease lasts from a second to a year, not ", absl::FormatDuration(ttl));
  }
  return seconds;
}

bool OnlyReads(const Transaction& transaction) {
  const auto reads = [](const Operation& operation) { return operation.kind == Operation::Kind::kGet; };
  return std::all_of(transaction.then.begin(), transaction.then.end(), reads) &&
         std::all_of(transaction.otherwise.begin(), transaction.otherwise.end(), reads);
}

absl::Status CompactedError(const Keys& keys, int64_t wanted, int64_t compacted) {
  return errors::OutOfRange("The watch of ", keys.ToString(), " missed events: it is at revision ", wanted,
                            ", and those before ", compacted, " are compacted. Read the keys again, then watch on");
}

absl::StatusOr<KeyValue> Store::Get(const CallOptions& options, absl::string_view key) {
  ASSIGN_OR_RETURN(TransactionResult result, Commit(options, {.then = {Operation::Get(Keys::Of(key))}}));
  std::vector<KeyValue>& found = result.results[0].found;
  if (found.empty()) return errors::NotFound("There is no key ", Keys::Of(key).ToString());
  return std::move(found[0]);
}

absl::StatusOr<Store::Listing> Store::List(const CallOptions& options, absl::string_view prefix) {
  ASSIGN_OR_RETURN(TransactionResult result, Commit(options, {.then = {Operation::Get(Keys::Under(prefix))}}));
  return Listing{std::move(result.results[0].found), result.revision};
}

absl::StatusOr<int64_t> Store::Put(const CallOptions& options, absl::string_view key, std::string value,
                                   LeaseId lease) {
  ASSIGN_OR_RETURN(const TransactionResult result,
                   Commit(options, {.then = {Operation::Put(key, std::move(value), lease)}}));
  return result.revision;
}

absl::StatusOr<int64_t> Store::Delete(const CallOptions& options, Keys keys) {
  ASSIGN_OR_RETURN(const TransactionResult result, Commit(options, {.then = {Operation::Delete(std::move(keys))}}));
  return result.results[0].deleted;
}

absl::StatusOr<int64_t> Store::CompareAndSwap(const CallOptions& options, absl::string_view key, int64_t expected,
                                              std::string value, LeaseId lease) {
  ASSIGN_OR_RETURN(const TransactionResult result,
                   Commit(options, {.conditions = {Condition::ModifiedAt(key, expected)},
                                    .then = {Operation::Put(key, std::move(value), lease)},
                                    .otherwise = {Operation::Get(Keys::Of(key))}}));
  if (result.succeeded) return result.revision;
  const std::vector<KeyValue>& found = result.results[0].found;
  const std::string name = Keys::Of(key).ToString();
  if (found.empty()) return errors::Aborted("Key ", name, " is not at revision ", expected, ": it is not there");
  return errors::Aborted("Key ", name, " is not at revision ", expected, " but at ", found[0].mod_revision);
}

}  // namespace weir::coordination
