// Detects collectives in graphs, and the keys of graphs that share them.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"
#include "core/wire/wire_options.h"
#include "graph/graph.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace weir {

// Whether the op is one; not CollectiveAssignGroupV2, which only computes.
bool IsCollective(absl::string_view op);

// Whether the graph, or a function of its library, contains a collective.
bool HasCollectives(const tensorflow::GraphDef& graph);

// 0 if the graph has no collectives, or contains all members of each. Otherwise the key that TensorFlow computes:
// graphs with the same collectives have the same key, and their steps must have the same ids.
int64_t CollectiveGraphKey(const Graph& graph);

// Sets kWireAttr of collectives that do not have it to `wire`; those that do not reduce are not cast.
void AskForWire(const WireOptions& wire, Graph* graph);

}  // namespace weir
