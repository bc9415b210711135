#include "graph/gradients/called_functions.h"

#include "graph/function_library.h"
#include "graph/functions/function_body.h"
#include "graph/functions/lower_functions.h"
#include "tensorflow/core/framework/attr_value.pb.h"

namespace weir {
namespace {

absl::Status CopyInputs(const Node& from, Node* to, Graph* graph) {
  for (const Edge* edge : from.in_edges()) {
    if (edge->is_control()) {
      graph->AddControlEdge(edge->src, to);
    } else {
      RETURN_IF_ERROR(graph->AddEdge(edge->src, edge->src_output, to, edge->dst_input).status());
    }
  }
  return absl::OkStatus();
}

// Makes `results` return the outputs of a copy of `call` that was inlined.
absl::Status TakeResults(Node* results, Node* call, Graph* graph) {
  RETURN_IF_ERROR(graph->ChangeOp(call, results->def()));
  RETURN_IF_ERROR(CopyInputs(*results, call, graph));
  graph->RemoveNode(results);
  return absl::OkStatus();
}

}  // namespace

bool IsDifferentiatedByBody(const Node& node, const FunctionLibrary& library) {
  if (!CallsFunctions(node)) return false;
  const std::string function = CalledFunction(node).name();
  return function.empty() || library.FindGradient(function).empty();
}

// Inlines a copy, so that `call` itself, which callers may hold, is never removed.
absl::StatusOr<bool> WriteOutCall(Node* call, Graph* graph) {
  tensorflow::NodeDef def = call->def();
  const std::string name = graph->UniqueName(absl::StrCat(call->name(), "/call"));
  def.set_name(name);
  ASSIGN_OR_RETURN(Node * copy, graph->AddNode(std::move(def)));
  const absl::Status copied = CopyInputs(*call, copy, graph);
  const absl::StatusOr<bool> written = copied.ok() ? LowerCall(copy, graph) : copied;
  if (!written.ok() || !*written) {
    graph->RemoveNode(graph->FindNode(name));
    return written;
  }
  RETURN_IF_ERROR(TakeResults(graph->FindNode(name), call, graph));
  return true;
}

}  // namespace weir
