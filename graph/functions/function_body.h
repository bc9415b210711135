// Instantiates functions as graphs, and inlines calls.
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

// A function with its attributes substituted. Arguments enter through _Arg nodes, results leave through _Retval nodes;
// both vectors are ordered by index. A call is complete when the results and `control_rets` have run.
struct FunctionBody {
  std::unique_ptr<Graph> graph;
  std::vector<Node*> args, rets, control_rets;
  DataTypeVector arg_types, ret_types;
};

// The body of `function` for a call with `attrs`. The graph has `library`, so the body may call further functions.
// InvalidArgument, naming the function and the node, if the definition is malformed or an attribute is missing.
absl::StatusOr<FunctionBody> InstantiateFunction(const tensorflow::FunctionDef& function, const AttrMap& attrs,
                                                 const OpRegistry& ops, const FunctionLibrary& library);

// The function and attributes that `node` calls: attribute `f` of a PartitionedCall, or a node whose op is a function.
// The name is empty for other nodes.
tensorflow::NameAttrList CalledFunction(const Node& node);

// A boolean attribute of a PartitionedCall that replaces another kind of call.
inline constexpr char kWholeCallAttr[] = "_weir_whole_call";

// Inlines the body of a call.
// - Nodes are named "<call>/<name in the body>". Unset devices are the call's.
// - The body runs after the call's inputs; successors of the call run after the body's results and effects.
// - A node with the call's name and outputs stays, so that fetches and targets still find it.
// - The effects of a PartitionedCall are the function's control outputs; another stateful node of the body runs only if
//   a result needs it, as in TensorFlow. For any other call, and one with kWholeCallAttr, all stateful nodes are
//   effects too.
// - On failure the graph is unchanged.
absl::Status InlineFunctionCall(const FunctionBody& body, Node* call, Graph* graph);

// Whether the call may have to stay a call: the function has effects together with a Switch or an Enter, so that some
// may never run, or run repeatedly, and successors of the call cannot wait for each of them.
bool HasConditionalEffects(const FunctionBody& body, const Node& call);

struct InlineOptions {
  int max_depth = 64;         // deeper calls, such as recursive ones, stay calls
  int max_nodes = 1'000'000;  // stops inlining when the graph exceeds this
};
// Inlines every call, unless the function is marked `_noinline` or has conditional effects.
absl::Status InlineFunctionCalls(const InlineOptions& options, Graph* graph);

}  // namespace weir
