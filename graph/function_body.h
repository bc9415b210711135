// Functions made into graphs, and calls replaced by the functions that they call.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/status.h"
#include "graph/function_library.h"
#include "graph/graph.h"

namespace weir {

using AttrMap = std::map<std::string, tensorflow::AttrValue>;

// A function with its attributes filled in. Arguments enter by _Arg nodes, results leave by _Retval nodes; both vectors
// are in order of their indices. A call has finished when the results and `control_rets` have run.
struct FunctionBody {
  std::unique_ptr<Graph> graph;
  std::vector<Node*> args, rets, control_rets;
  DataTypeVector arg_types, ret_types;
};

// The body of `function` for a call with `attrs`. The graph has `library`, so the body may call further functions.
// InvalidArgument, naming the function and the node, where the definition is malformed or an attribute is missing.
absl::StatusOr<FunctionBody> InstantiateFunction(const tensorflow::FunctionDef& function, const AttrMap& attrs,
                                                 const OpRegistry& ops, const FunctionLibrary& library);

// The function and attributes that `node` calls: a PartitionedCall by its attribute `f`, or a node whose op is a
// function. Name empty for other nodes.
tensorflow::NameAttrList CalledFunction(const Node& node);

// A boolean attribute of a PartitionedCall that stands for a call of another kind.
inline constexpr char kWholeCallAttr[] = "_weir_whole_call";

// Replaces `call` by the body of what it calls. Nodes are named "<call>/<name in the body>"; devices that they leave
// open come from the call. What ran after the call runs after the body's results and effects; nothing of the body runs
// before the call's inputs are there. A node with the call's name and outputs stays, so that fetches and targets still
// find it. On failure the graph is as it was.
//
// The effects of a PartitionedCall are the function's control outputs: another stateful node of the body runs only
// where a result needs it, as in TensorFlow. Those of any other call, and of one with kWholeCallAttr, are all stateful
// nodes too.
absl::Status InlineFunctionCall(const FunctionBody& body, Node* call, Graph* graph);

// Whether the call may have to stay one: the function has effects beside a Switch or an Enter, so that some may never
// run, or run often, and whoever waits for the call cannot wait for each of them.
bool HasConditionalEffects(const FunctionBody& body, const Node& call);

struct InlineOptions {
  int max_depth = 64;         // deeper calls, recursive ones for example, stay calls
  int max_nodes = 1'000'000;  // no further inlining of a graph that grew beyond
};
// Every call, unless the function is marked `_noinline` or has conditional effects.
absl::Status InlineFunctionCalls(const InlineOptions& options, Graph* graph);

}  // namespace weir
