// Imports a GraphDef with full validation.
#pragma once

#include <optional>
#include <string>

#include "core/status.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace weir {

class Graph;
class Node;

// The GraphDef version of this build, as producer and as consumer.
constexpr int kGraphDefVersion = 2474;

struct ImportOptions {
  // Accept ops and nodes whose names start with '_'. They are internal to the runtime (sends, receives, arguments), so
  // graphs from clients must not have them.
  bool allow_internal_ops = false;
  // For graphs of other builds: drop attributes that an op does not have, and leave deprecated ops to CheckAvailable.
  bool from_any_producer = false;
  // Prepended, with a '/', to the name of every node and to references to them.
  std::string prefix;
  // The producer version of a GraphDef that does not have one.
  int default_producer = 0;
  int max_nodes = 10'000'000;
};

// Adds the nodes, edges and functions of `def` to `graph`. Inputs may refer to existing nodes. If it fails, `graph` is
// unchanged. Linear in the size of `def`, and not recursive, so depth does not matter.
//
// Errors name the node:
// - InvalidArgument: a name that is malformed or not unique; attributes that do not match the op; inputs that do not
//   exist, are too many or too few, or differ in type; a cycle that is not closed by NextIteration into Merge;
//   incompatible versions.
// - NotFound: an unknown op.
// - Unimplemented: a deprecated op.
absl::Status ImportGraphDef(const ImportOptions& options, tensorflow::GraphDef def, Graph* graph);

// Unimplemented, with the node as its origin, if the node's op was removed before the version of its graph.
absl::Status CheckAvailable(const Node& node, const Graph& graph);

// [A-Za-z0-9.][A-Za-z0-9_./>-]*; a leading '_' only if internal names are allowed.
bool IsValidNodeName(absl::string_view name, bool allow_internal);

// "name", "name:2" or "^name"; nullopt for anything else. `output` is Edge::kControlSlot for the last form.
struct InputRef {
  absl::string_view node;
  int output = 0;
};
std::optional<InputRef> ParseInputRef(absl::string_view input);

}  // namespace weir
