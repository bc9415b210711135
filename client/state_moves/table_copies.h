// Copies tables between tasks.
#pragma once

#include <string>

#include "client/scope.h"
#include "core/status.h"
#include "weir/membership.pb.h"

namespace weir {

// Where a task keeps a variable or table.
struct StatePlace {
  std::string device, container;
};

// Nodes that copy a table.
struct TableCopy {
  Output has_value;    // on the source
  Operation transfer;  // sends the content, and drops it on the target
  Operation copy;      // replaces the target's table
};

// A map of an embedding's parts, on the task that has it.
struct TableMap {
  HeldTable table;
  std::string task;
  StatePlace place;
  int self = 0;       // the owner that the source of the copy is, by this map
  int64_t epoch = 0;  // when it was read; a map that has another one by then has no value to copy
};

// Adds nodes for tables of keys and values, embedding tables and their maps. `map` is the map itself or, of an
// embedding table in parts, its map; null for others. UNIMPLEMENTED, naming it, for other tables.
absl::StatusOr<TableCopy> AddTableCopy(const Scope& scope, const HeldTable& table, const StatePlace& from,
                                       const StatePlace& to, const TableMap* map);

// The handle of a table on a task.
Output TableHandle(const Scope& scope, const HeldTable& table, const StatePlace& place);

// The name of the map of an embedding table in parts, or of a map itself; empty for other tables.
std::string MapOf(const HeldTable& table);

}  // namespace weir
