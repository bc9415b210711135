#include "tests/gradients/graph_function.h"

#include "core/op/attr_value.h"
#include "graph/function_library.h"
#include "graph/functions/lower_functions.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {
namespace {

std::vector<bool> Needed(const Graph& graph, const std::vector<Output>& outputs) {
  std::vector<bool> needed(graph.num_node_ids(), false);
  std::vector<const Node*> stack;
  for (const Output& output : outputs) stack.push_back(output.node());
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    if (needed[node->id()]) continue;
    needed[node->id()] = true;
    for (const Edge* edge : node->in_edges()) stack.push_back(edge->src);
  }
  return needed;
}

}  // namespace

Output Argument(const Scope& scope, int index, DataType type) {
  tensorflow::NodeDef def;
  def.set_op("_Arg");
  SetNodeAttr("T", type, &def);
  SetNodeAttr("index", int64_t{index}, &def);
  return Output(scope.WithName("argument").AddOp(std::move(def), {}), 0);
}

absl::StatusOr<std::unique_ptr<GraphFunction>> GraphFunction::Compile(const Graph& graph,
                                                                      const std::vector<Output>& outputs) {
  std::unique_ptr<Graph> body = graph.Clone();
  const std::vector<bool> needed = Needed(graph, outputs);
  for (Node* node : body->nodes()) {
    if (!needed[node->id()] && node->op() != "_Arg") body->RemoveNode(node);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    tensorflow::NodeDef def;
    def.set_op("_Retval");
    def.set_name(absl::StrCat("result_of_function_", i));
    SetNodeAttr("T", outputs[i].type(), &def);
    SetNodeAttr("index", static_cast<int64_t>(i), &def);
    ASSIGN_OR_RETURN(Node * result, body->AddNode(std::move(def)));
    RETURN_IF_ERROR(body->AddEdge(body->node(outputs[i].node()->id()), outputs[i].index(), result, 0).status());
  }
  if (!body->functions().empty()) RETURN_IF_ERROR(LowerFunctions({}, body.get()).status());
  std::unique_ptr<GraphFunction> function(new GraphFunction());
  ASSIGN_OR_RETURN(function->executor_, function->harness_.Compile(std::move(body)));
  return function;
}

absl::StatusOr<std::vector<Tensor>> GraphFunction::Call(const std::vector<Tensor>& arguments) {
  return harness_.RunStep(*executor_, arguments);
}

}  // namespace weir
