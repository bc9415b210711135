// Graphs as text, for people, tests and error messages:
//
//   versions {producer=1882}
//   %x:f32[?,784] = Placeholder() {shape=shape[?,784]}
//   %h:f32[?,128] = MatMul(%x, %w:1, ^%init) {transpose_b=true} @worker:0/CPU:0
//   %parts:(f32, f32) = Split(%axis, %h)
//
// "%x:1" is output 1 of %x and "^%x" a control input. Names other than letters, digits and "_.-/>" are quoted: %"a b".
// The part before '=' has output types, with shapes if they are known. Attributes that follow from the types, or have
// their default value, are omitted. A device is "job:task/TYPE:id" (replica 0), or any name in quotes. '#' starts a
// comment. Functions are in protobuf's text format: function {signature { … } …}.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "core/status.h"
#include "graph/graph.h"
#include "graph/graph_import.h"

namespace weir {

class ShapeRefiner;

struct PrintOptions {
  const ShapeRefiner* shapes = nullptr;
  // Longer attribute values are only described; such text does not parse.
  std::optional<size_t> max_attr_bytes;
};

// ParseGraph of the result returns an equal graph: the same ToGraphDef().
std::string PrintGraph(const Graph& graph, const PrintOptions& options = {});
std::string PrintNode(const Node& node, const PrintOptions& options = {});

// Adds the nodes in `text` to `graph`. Accepts any bytes. InvalidArgument names line and column, or node, of the error;
// `graph` is then unchanged. Nodes may be used before they are defined; types of inputs come from the definition's left
// side if it has one.
absl::Status ParseGraph(absl::string_view text, const ImportOptions& options, Graph* graph);

}  // namespace weir
