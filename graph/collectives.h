// Which graphs have collectives, and with whom they share them.
#pragma once

#include <cstdint>

#include "core/wire/wire_options.h"
#include "graph/graph.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace weir {

// Whether a node of it, or of a function of its library, is a collective.
bool HasCollectives(const tensorflow::GraphDef& graph);

// 0 when the graph has no collectives, or when all members of each are nodes of it. Otherwise what TensorFlow computes:
// graphs with the same collectives have the same key, and their steps must have the same ids.
int64_t CollectiveGraphKey(const Graph& graph);

// Collectives that do not say by kWireAttr how their messages look get `wire`; those that do not reduce are not cast.
void AskForWire(const WireOptions& wire, Graph* graph);

}  // namespace weir
