// Cuts a placed graph into one graph per location, with Send and Recv nodes where edges were cut.
#pragma once

#include <functional>
#include <string>

#include "absl/container/btree_map.h"
#include "core/status.h"
#include "core/wire/wire_options.h"
#include "graph/graph.h"

namespace weir {

struct PartitionOptions {
  // Where a node goes: its task (the master's cut) or its device (a worker's cut of its part). Called on placed nodes.
  std::function<std::string(const Node&)> location;
  // The incarnation of a device, by full name; goes into Send and Recv so that a restarted task is told from the one
  // that the graph was made for.
  std::function<uint64_t(absl::string_view device)> incarnation;
  // Whether a location can encode and decode what passes between two that can; null: none can.
  std::function<bool(const std::string& location)> knows_wire;
  // How tensors pass where neither of an edge's nodes says so by its attribute kWireAttr: the first node's counts
  // before the second's.
  WireOptions wire;
};

// Graphs by location. The union of the parts computes what `graph` does: an edge of data becomes a _Send/_Recv pair,
// shared by all consumers on one device (with a _WireEncode before it and a _WireDecode behind it where it is cast or
// compressed); an edge of control carries an empty tensor. A loop whose body spans locations
// gets, in each location that sends or receives inside it, a control loop (Enter, Merge, Switch, NextIteration) driven
// by the loop's condition, so that the receives run once an iteration.
//
// `graph` must be placed; it is changed (control loops are added). InvalidArgument where frames do not nest, or a
// reference-typed edge would be cut.
absl::StatusOr<absl::btree_map<std::string, tensorflow::GraphDef>> PartitionGraph(const PartitionOptions& options,
                                                                                  Graph* graph);

}  // namespace weir
