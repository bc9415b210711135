#include "distribute/coordination/etcd/etcd_messages.h"

#include <utility>

namespace weir::coordination {
namespace {

etcdserverpb::Compare ToEtcd(const Condition& condition) {
  etcdserverpb::Compare compare;
  compare.set_result(etcdserverpb::Compare::EQUAL);
  compare.set_key(EtcdRangeStart(condition.keys));
  compare.set_range_end(EtcdRangeEnd(condition.keys));
  switch (condition.kind) {
    case Condition::Kind::kCreatedAt:
      compare.set_target(etcdserverpb::Compare::CREATE);
      compare.set_create_revision(condition.revision);
      break;
    case Condition::Kind::kModifiedAt:
      compare.set_target(etcdserverpb::Compare::MOD);
      compare.set_mod_revision(condition.revision);
      break;
    case Condition::Kind::kValueIs:
      compare.set_target(etcdserverpb::Compare::VALUE);
      compare.set_value(condition.value);
      break;
  }
  return compare;
}

etcdserverpb::RequestOp ToEtcd(const Operation& operation) {
  etcdserverpb::RequestOp request;
  switch (operation.kind) {
    case Operation::Kind::kGet:
      request.mutable_request_range()->set_key(EtcdRangeStart(operation.keys));
      request.mutable_request_range()->set_range_end(EtcdRangeEnd(operation.keys));
      break;
    case Operation::Kind::kPut:
      request.mutable_request_put()->set_key(operation.keys.key);
      request.mutable_request_put()->set_value(operation.value);
      request.mutable_request_put()->set_lease(operation.lease);
      break;
    case Operation::Kind::kDelete:
      request.mutable_request_delete_range()->set_key(EtcdRangeStart(operation.keys));
      request.mutable_request_delete_range()->set_range_end(EtcdRangeEnd(operation.keys));
      break;
  }
  return request;
}

KeyValue FromEtcd(etcdserverpb::KeyValue kv) {
  return {.key = std::move(*kv.mutable_key()),
          .value = std::move(*kv.mutable_value()),
          .create_revision = kv.create_revision(),
          .mod_revision = kv.mod_revision(),
          .version = kv.version(),
          .lease = kv.lease()};
}

bool Answers(const Operation& operation, const etcdserverpb::ResponseOp& response) {
  switch (operation.kind) {
    case Operation::Kind::kGet:
      return response.has_response_range();
    case Operation::Kind::kPut:
      return response.has_response_put();
    case Operation::Kind::kDelete:
      return response.has_response_delete_range();
  }
  return false;
}

}  // namespace

std::string EtcdRangeStart(const Keys& keys) {
  return keys.is_prefix && keys.key.empty() ? std::string(1, '\0') : keys.key;
}

std::string EtcdRangeEnd(const Keys& keys) {
  if (!keys.is_prefix) return "";
  // The first string after all those with the prefix.
  std::string end = keys.key;
  while (!end.empty() && end.back() == '\xff') end.pop_back();
  if (end.empty()) return std::string(1, '\0');
  ++end.back();
  return end;
}

etcdserverpb::TxnRequest ToEtcd(const Transaction& transaction) {
  etcdserverpb::TxnRequest request;
  for (const Condition& condition : transaction.conditions) *request.add_compare() = ToEtcd(condition);
  for (const Operation& operation : transaction.then) *request.add_success() = ToEtcd(operation);
  for (const Operation& operation : transaction.otherwise) *request.add_failure() = ToEtcd(operation);
  return request;
}

absl::StatusOr<TransactionResult> FromEtcd(const Transaction& transaction, etcdserverpb::TxnResponse response) {
  const std::vector<Operation>& branch = response.succeeded() ? transaction.then : transaction.otherwise;
  if (response.responses_size() != branch.size()) {
    return errors::Internal("etcd sent ", response.responses_size(), " results for ", branch.size(), " operations");
  }
  TransactionResult result;
  result.succeeded = response.succeeded();
  result.revision = response.header().revision();
  for (int i = 0; i < response.responses_size(); ++i) {
    etcdserverpb::ResponseOp& one = *response.mutable_responses(i);
    if (!Answers(branch[i], one)) return errors::Internal("etcd sent a result of another operation");
    OperationResult& out = result.results.emplace_back();
    out.deleted = one.response_delete_range().deleted();
    if (branch[i].kind != Operation::Kind::kGet) continue;
    for (etcdserverpb::KeyValue& kv : *one.mutable_response_range()->mutable_kvs()) {
      if (!branch[i].keys.Contain(kv.key()) || (!out.found.empty() && out.found.back().key >= kv.key())) {
        return errors::Internal("etcd sent key ", Keys::Of(kv.key()).ToString(), " when it was asked for ",
                                branch[i].keys.ToString());
      }
      out.found.push_back(FromEtcd(std::move(kv)));
    }
  }
  return result;
}

absl::StatusOr<Event> FromEtcd(const Keys& keys, int64_t at_least, etcdserverpb::Event event) {
  const etcdserverpb::KeyValue& kv = event.kv();
  if (!keys.Contain(kv.key()) || kv.mod_revision() < at_least || kv.mod_revision() > kMaxEtcdRevision ||
      (event.type() != etcdserverpb::Event::PUT && event.type() != etcdserverpb::Event::DELETE)) {
    return errors::Internal("etcd sent an event of key ", Keys::Of(kv.key()).ToString(), " at revision ",
                            kv.mod_revision(), " to a watch of ", keys.ToString(), " that is at ", at_least);
  }
  const auto type = event.type() == etcdserverpb::Event::PUT ? Event::Type::kPut : Event::Type::kDelete;
  return Event{type, FromEtcd(std::move(*event.mutable_kv()))};
}

}  // namespace weir::coordination
