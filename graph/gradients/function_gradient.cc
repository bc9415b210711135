#include "graph/gradients/function_gradient.h"

#include "core/op/attr_value.h"
#include "graph/gradients/gradient_builder.h"
#include "tensorflow/core/framework/attr_value.pb.h"

namespace weir {
namespace {

using tensorflow::NameAttrList;
using tensorflow::NodeDef;

AttrMap Attrs(const NameAttrList& function) { return {function.attr().begin(), function.attr().end()}; }

absl::StatusOr<Node*> AddArg(DataType type, FunctionBody* body) {
  NodeDef def;
  def.set_name(body->graph->UniqueName("arg"));
  def.set_op("_Arg");
  SetNodeAttr("T", type, &def);
  SetNodeAttr("index", static_cast<int64_t>(body->args.size()), &def);
  ASSIGN_OR_RETURN(Node * arg, body->graph->AddNode(std::move(def)));
  body->args.push_back(arg);
  body->arg_types.push_back(type);
  return arg;
}

absl::Status AddRet(const Output& value, FunctionBody* body) {
  NodeDef def;
  def.set_name(body->graph->UniqueName("result"));
  def.set_op("_Retval");
  SetNodeAttr("T", value.type(), &def);
  SetNodeAttr("index", static_cast<int64_t>(body->rets.size()), &def);
  ASSIGN_OR_RETURN(Node * ret, body->graph->AddNode(std::move(def)));
  RETURN_IF_ERROR(body->graph->AddEdge(value.node(), value.index(), ret, 0).status());
  body->rets.push_back(ret);
  body->ret_types.push_back(value.type());
  return absl::OkStatus();
}

// Wraps one op as a function.
absl::StatusOr<FunctionBody> BodyOfOp(const NameAttrList& op, const OpRegistry& ops, const FunctionLibrary& library) {
  RETURN_IF_ERROR(ops.LookUp(op.name()).status());
  FunctionBody body;
  body.graph = std::make_unique<Graph>(&ops);
  *body.graph->mutable_functions() = library;
  NodeDef def;
  def.set_name("op");
  def.set_op(op.name());
  *def.mutable_attr() = op.attr();
  ASSIGN_OR_RETURN(Node * node, body.graph->AddNode(std::move(def)));
  for (int i = 0; i < node->num_inputs(); ++i) {
    ASSIGN_OR_RETURN(Node * arg, AddArg(RemoveRef(node->input_type(i)), &body));
    RETURN_IF_ERROR(body.graph->AddEdge(arg, 0, node, i).status());
  }
  for (int i = 0; i < node->num_outputs(); ++i) RETURN_IF_ERROR(AddRet(Output(node, i), &body));
  return body;
}

bool IsDifferentiable(DataType type) { return IsFloating(type) || IsComplex(type); }

// Converts the body of a function to that of its gradient.
absl::Status Differentiate(FunctionBody* body) {
  std::vector<Output> ys, xs;
  GradientOptions options;
  options.dense = true;
  for (Node* arg : body->args) xs.emplace_back(arg, 0);
  std::vector<Node*> rets = std::move(body->rets);
  body->rets.clear();
  body->ret_types.clear();
  for (Node* ret : rets) {
    const Edge* edge = ret->input_edge(0);
    const Output y(edge->src, edge->src_output);
    ASSIGN_OR_RETURN(Node * dy, AddArg(y.type(), body));
    body->graph->RemoveNode(ret);
    if (!IsDifferentiable(y.type())) continue;
    ys.push_back(y);
    options.grad_ys.emplace_back(dy, 0);
  }
  ASSIGN_OR_RETURN(std::vector<Gradient> dxs, AddGradients(ys, xs, options, body->graph.get()));
  for (size_t i = 0; i < xs.size(); ++i) {
    Output dx = dxs[i].values;
    if (!dx.valid()) {
      NodeDef zeros;
      zeros.set_name(body->graph->UniqueName("zeros"));
      zeros.set_op("ZerosLike");
      SetNodeAttr("T", xs[i].type(), &zeros);
      ASSIGN_OR_RETURN(Node * node, body->graph->AddNode(std::move(zeros)));
      RETURN_IF_ERROR(body->graph->AddEdge(xs[i].node(), 0, node, 0).status());
      dx = Output(node, 0);
    }
    RETURN_IF_ERROR(AddRet(dx, body));
  }
  // Side effects belong to the call, not to its gradient.
  body->control_rets.clear();
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<FunctionBody> InstantiateGradient(const NameAttrList& function, const OpRegistry& ops,
                                                 const FunctionLibrary& library) {
  const std::string own = library.FindGradient(function.name());
  if (!own.empty() && library.Find(own) != nullptr) {
    return InstantiateFunction(*library.Find(own), Attrs(function), ops, library);
  }
  const tensorflow::FunctionDef* def = library.Find(function.name());
  absl::StatusOr<FunctionBody> body =
      def != nullptr ? InstantiateFunction(*def, Attrs(function), ops, library) : BodyOfOp(function, ops, library);
  RETURN_IF_ERROR(body.status());
  RETURN_IF_ERROR(Annotate(Differentiate(&*body), absl::StrCat("Gradient of function ", function.name())));
  return body;
}

}  // namespace weir
