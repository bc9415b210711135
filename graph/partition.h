// Partitions a placed graph by location, with Send and Recv nodes at cut edges.
#pragma once

#include <functional>
#include <string>

#include "absl/container/btree_map.h"
#include "core/status.h"
#include "core/wire/wire_options.h"
#include "graph/graph.h"

namespace weir {

struct PartitionOptions {
  // The location of a node: its task (in the master) or its device (in a worker). Called on placed nodes.
  std::function<std::string(const Node&)> location;
  // The incarnation of a device, given its full name. Send and Recv carry it, so that a restarted task is distinguished
  // from the one that the graph was partitioned for.
  std::function<uint64_t(absl::string_view device)> incarnation;
  // Whether a location can encode and decode tensors sent to other such locations; null: none can.
  std::function<bool(const std::string& location)> knows_wire;
  // The wire format of edges whose nodes do not have kWireAttr; the source node's attribute takes precedence over the
  // destination's.
  WireOptions wire;
};

// Partitions `graph`, which must be placed and is modified (control loops are added). Returns graphs by location, which
// together compute what `graph` does.
// - A data edge becomes a _Send/_Recv pair shared by all consumers on one device, with _WireEncode before and
//   _WireDecode after it if it is cast or compressed. A control edge sends an empty tensor.
// - If the body of a loop spans locations, each location that sends or receives inside of it gets a control loop
//   (Enter, Merge, Switch, NextIteration) driven by the loop's condition, so that receives run once per iteration.
// - InvalidArgument if frames do not nest, or a reference-typed edge would be cut.
absl::StatusOr<absl::btree_map<std::string, tensorflow::GraphDef>> PartitionGraph(const PartitionOptions& options,
                                                                                  Graph* graph);

}  // namespace weir
