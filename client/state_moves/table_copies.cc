#include "client/state_moves/table_copies.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/ops.h"
#include "core/op/attr_value.h"
#include "graph/graph.h"

namespace weir {
namespace {

DataType TypeAttr(const HeldTable& table, const char* name) {
  DataType type = DT_INVALID;
  GetNodeAttr(table.node(), name, &type).IgnoreError();
  return type;
}

// EmbeddingVariable names its tables in parts so.
constexpr char kTableSuffix[] = "/table", kMapSuffix[] = "/map";

TableCopy CopyEmbedding(const Scope& source, const Scope& target, const Output& from, const Output& to,
                        const TableMap* map) {
  TableCopy copy;
  copy.has_value = ops::EmbeddingTableIsInitialized(source, from);
  const auto rows = ops::EmbeddingTableExport(source, from, Tensor::Scalar<int64_t>(-1));
  copy.transfer = ops::Identity(target, rows.values).op();
  Operation ready = ops::EmbeddingTableInitialize(target, to);
  if (map != nullptr) {
    const Scope home = target.WithDevice(map->place.device);
    const auto parts = ops::EmbeddingMapRead(home, TableHandle(home, map->table, map->place));
    ready = ops::EmbeddingTableOwn(target.WithControlDependencies({ready}), to, parts.owners,
                                   Tensor::Scalar<int32_t>(map->self), {.create = true});
  }
  copy.copy = ops::EmbeddingTableImport(target.WithControlDependencies({ready}), to, rows.keys, rows.values, rows.slots,
                                        rows.versions, rows.freqs, rows.used);
  return copy;
}

TableCopy CopyMap(const Scope& source, const Scope& target, const Output& from, const Output& to, int64_t epoch) {
  TableCopy copy;
  const auto parts = ops::EmbeddingMapRead(source, from);
  copy.has_value = ops::Equal(source, parts.epoch, Tensor::Scalar<int64_t>(epoch));
  copy.transfer = ops::Identity(target, parts.owners).op();
  copy.copy = ops::EmbeddingMapSet(target, to, parts.owners, parts.tasks);
  if (copy.copy.node() != nullptr) SetNodeAttr("_weir_epoch", epoch, copy.copy.node()->mutable_def());
  return copy;
}

TableCopy CopyLookup(const Scope& source, const Scope& target, const HeldTable& table, const Output& from,
                     const Output& to) {
  TableCopy copy;
  copy.has_value = source.Constant(Tensor::Scalar<bool>(true));
  const auto entries =
      ops::LookupTableExportV2(source, from, TypeAttr(table, "key_dtype"), TypeAttr(table, "value_dtype"));
  copy.transfer = ops::Identity(target, entries.values).op();
  copy.copy = table.node().op() == "HashTableV2" ? ops::InitializeTableV2(target, to, entries.keys, entries.values)
                                                 : ops::LookupTableImportV2(target, to, entries.keys, entries.values);
  return copy;
}

}  // namespace

Output TableHandle(const Scope& scope, const HeldTable& table, const StatePlace& place) {
  tensorflow::NodeDef def;
  def.set_op(table.node().op());
  for (const auto& [name, attr] : table.node().attr()) {
    if (!absl::StartsWith(name, "_")) (*def.mutable_attr())[name] = attr;
  }
  SetNodeAttr("container", place.container, &def);
  SetNodeAttr("shared_name", table.state().name(), &def);
  return Output(scope.WithDevice(place.device).AddOp(std::move(def), {}), 0);
}

std::string MapOf(const HeldTable& table) {
  int64_t parts = 0;
  GetNodeAttr(table.node(), "parts", &parts).IgnoreError();
  if (table.node().op() == "EmbeddingMap") return table.state().name();
  if (table.node().op() != "EmbeddingTable" || parts == 0) return "";
  return absl::StrCat(absl::StripSuffix(table.state().name(), kTableSuffix), kMapSuffix);
}

absl::StatusOr<TableCopy> AddTableCopy(const Scope& scope, const HeldTable& table, const StatePlace& from,
                                       const StatePlace& to, const TableMap* map) {
  const std::string& op = table.node().op();
  const bool is_lookup = op == "HashTableV2" || op == "MutableHashTableV2" || op == "MutableHashTableOfTensorsV2";
  if (!is_lookup && op != "EmbeddingTable" && op != "EmbeddingMap") {
    return errors::Unimplemented("Table '", table.state().name(), "' (", op, ") of ", table.state().device(),
                                 " cannot be copied to another task");
  }
  const Scope source = scope.WithDevice(from.device), target = scope.WithDevice(to.device);
  const Output old_table = TableHandle(scope, table, from), new_table = TableHandle(scope, table, to);
  TableCopy copy = op == "EmbeddingTable" ? CopyEmbedding(source, target, old_table, new_table, map)
                   : op == "EmbeddingMap" ? CopyMap(source, target, old_table, new_table, map->epoch)
                                          : CopyLookup(source, target, table, old_table, new_table);
  RETURN_IF_ERROR(scope.status());
  return copy;
}

}  // namespace weir
