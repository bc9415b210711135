#include "client/lookup/static_hash_table.h"

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ops.h"
#include "core/random_bits.h"
#include "graph/graph.h"

namespace weir {
namespace {

Scope Inside(const OpScope& scope) {
  const Scope located = scope.Located();
  return located.SubScope(located.op_name().empty() ? "table" : located.op_name()).WithNoControlDependencies();
}

}  // namespace

// `inner` is the table's own scope.
StaticHashTable::StaticHashTable(const Scope& inner, const std::string& shared_name, DataType keys, DataType values,
                                 const Input& default_value)
    : value_dtype_(values) {
  handle_ = ops::HashTableV2(inner.WithName("handle"), keys, values, {.shared_name = shared_name});
  default_value_ =
      default_value.is_literal() ? inner.WithName("default").Constant(default_value, values) : default_value;
}

StaticHashTable StaticHashTable::FromTextFile(const OpScope& scope, const std::string& path, const Input& default_value,
                                              const TextFileTableOptions& options) {
  const Scope inner = Inside(scope);
  const std::string shared_name = absl::StrCat(
      "hash_table_", path, "_", options.vocab_size, "_", DataTypeName(options.key_dtype), options.key_index, "_",
      DataTypeName(options.value_dtype), options.value_index, "_", options.delimiter);
  StaticHashTable table(inner, shared_name, options.key_dtype, options.value_dtype, default_value);
  if (!inner.ok()) return StaticHashTable();
  const Scope beside = inner.ColocateWith(table.handle_.op());
  const Output file = beside.WithName("file").Constant(Tensor::Scalar<tstring>(path));
  table.initializer_ = ops::InitializeTableFromTextFileV2(
      beside.WithName("initialize"), table.handle_, file, options.key_index, options.value_index,
      {.vocab_size = options.vocab_size, .delimiter = options.delimiter});
  return table;
}

StaticHashTable StaticHashTable::FromTensors(const OpScope& scope, const Input& keys, const Input& values,
                                             const Input& default_value) {
  const Scope inner = Inside(scope);
  const std::string shared_name = absl::StrFormat("hash_table_%016x", RandomBits());
  StaticHashTable table(inner, shared_name, keys.type(), values.type(), default_value);
  if (!inner.ok()) return StaticHashTable();
  const Scope beside = inner.ColocateWith(table.handle_.op());
  table.initializer_ = ops::InitializeTableV2(beside.WithName("initialize"), table.handle_, keys, values);
  return table;
}

Output StaticHashTable::Lookup(const OpScope& scope, const Input& keys) const {
  return ops::LookupTableFindV2(scope, handle_, keys, default_value_);
}

Output StaticHashTable::Size(const OpScope& scope) const { return ops::LookupTableSizeV2(scope, handle_); }

Operation InitializeTables(const Scope& scope) {
  std::vector<Operation> initializers;
  for (Node* const node : scope.graph()->nodes()) {
    if (absl::StartsWith(node->op(), "InitializeTable")) initializers.emplace_back(node);
  }
  if (initializers.empty()) return Operation();
  return ops::NoOp(scope.Root().WithControlDependencies(initializers).WithName("init_tables"));
}

}  // namespace weir
