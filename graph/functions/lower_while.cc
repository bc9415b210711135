#include "core/op/attr_value.h"
#include "graph/functions/function_body.h"
#include "graph/functions/lower_control_flow.h"
#include "graph/node_replacement.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/function.pb.h"

namespace weir {
namespace {

using tensorflow::NameAttrList;

class WhileLowering {
 public:
  WhileLowering(Node* node, Graph* graph) : replacement_(node, graph) {}

  absl::Status Run() {
    absl::Status status = Build();
    if (!status.ok()) replacement_.Abandon();
    return status;
  }

 private:
  // One loop variable. A resource stays the same but goes around the loop; its Switch holds back its readers in the
  // body.
  struct Variable {
    Output source, enter, merge, branch, arg;
    bool is_resource = false;
  };

  absl::Status Build() {
    RETURN_IF_ERROR(GetNodeAttr(node().def(), "cond", &cond_));
    RETURN_IF_ERROR(GetNodeAttr(node().def(), "body", &body_));
    RETURN_IF_ERROR(GetNodeAttr(node().def(), "parallel_iterations", &parallel_iterations_));
    for (int i = 0; i < node().num_inputs(); ++i) {
      ASSIGN_OR_RETURN(Output source, replacement_.Input(i));
      RETURN_IF_ERROR(AddVariable(source));
    }
    if (Carrier() == nullptr) RETURN_IF_ERROR(AddToken());
    RETURN_IF_ERROR(AddCondition());
    return AddBody();
  }

  absl::Status AddVariable(const Output& source) {
    Variable variable{.source = source, .is_resource = source.type() == DT_RESOURCE};
    tensorflow::NodeDef enter;
    enter.set_op("Enter");
    SetNodeAttr("frame_name", node().name(), &enter);
    SetNodeAttr("is_constant", variable.is_resource, &enter);
    SetNodeAttr("parallel_iterations", parallel_iterations_, &enter);
    const std::string* device = variable.is_resource ? &source.node()->requested_device() : nullptr;
    ASSIGN_OR_RETURN(variable.enter, replacement_.Add("enter", std::move(enter), {{source}}, device));
    replacement_.InheritControl(variable.enter.node());
    variable.merge = variable.enter;
    if (!variable.is_resource) {
      // The second input, from NextIteration, is connected later.
      ASSIGN_OR_RETURN(variable.merge, replacement_.AddOp("merge", "Merge", {{variable.enter, variable.enter}}));
      graph()->RemoveEdge(variable.merge.node()->input_edge(1));
    }
    variables_.push_back(variable);
    return absl::OkStatus();
  }

  // A loop without variables, or with only resources, needs a value that goes around.
  absl::Status AddToken() {
    tensorflow::NodeDef token;
    token.set_op("Const");
    SetNodeAttr("dtype", DT_INT32, &token);
    SetNodeAttr("value", Tensor::Scalar<int32_t>(0), &token);
    ASSIGN_OR_RETURN(Output value, replacement_.Add("token", std::move(token), {}));
    replacement_.InheritControl(value.node());
    if (node().num_inputs() > 0) {
      const Output& source = variables_[0].source;
      ASSIGN_OR_RETURN(Output arrival,
                       replacement_.AddOp("input", "Identity", {{source}}, &source.node()->requested_device()));
      graph()->AddControlEdge(arrival.node(), value.node());
    }
    return AddVariable(value);
  }

  absl::Status AddCondition() {
    std::vector<Output> args;
    bool has_resource = false;
    for (int i = 0; i < node().num_inputs(); ++i) {
      args.push_back(variables_[i].merge);
      has_resource = has_resource || variables_[i].is_resource;
    }
    ASSIGN_OR_RETURN(const DataType type, ConditionType());
    ASSIGN_OR_RETURN(Node * call, replacement_.AddCall("cond", cond_, args, {type}));
    // A resource alone does not indicate that the previous iteration has ended.
    if (has_resource || args.empty()) graph()->AddControlEdge(Carrier()->merge.node(), call);
    ASSIGN_OR_RETURN(Output truth, replacement_.AddTruth("truth", Output(call, 0)));
    ASSIGN_OR_RETURN(loop_cond_, replacement_.AddOp("loop_cond", "LoopCond", {{truth}}));
    return absl::OkStatus();
  }

  absl::StatusOr<DataType> ConditionType() const {
    const tensorflow::FunctionDef* function = graph()->functions().Find(cond_.name());
    if (function == nullptr) return errors::NotFound("Function ", cond_.name(), " is not defined.");
    const AttrMap attrs(cond_.attr().begin(), cond_.attr().end());
    ASSIGN_OR_RETURN(FunctionBody body, InstantiateFunction(*function, attrs, graph()->ops(), graph()->functions()));
    if (body.ret_types.size() == 1) return body.ret_types[0];
    return errors::InvalidArgument("The condition of While '", node().name(), "' must return one value, not ",
                                   body.ret_types.size());
  }

  absl::Status AddBody() {
    std::vector<Output> args;
    for (Variable& variable : variables_) {
      const std::string* device = variable.is_resource ? &variable.source.node()->requested_device() : nullptr;
      ASSIGN_OR_RETURN(variable.branch,
                       replacement_.AddOp("switch", "Switch", {{variable.merge}, {loop_cond_}}, device));
      // Not the Switch itself: nodes that wait for it would also run after the last iteration.
      ASSIGN_OR_RETURN(variable.arg,
                       replacement_.AddOp("arg", "Identity", {{Output(variable.branch.node(), 1)}}, device));
      if (static_cast<int>(args.size()) < node().num_inputs()) args.push_back(variable.arg);
    }
    ASSIGN_OR_RETURN(Node * call, replacement_.AddCall("body", body_, args, node().output_types()));
    if (args.empty()) graph()->AddControlEdge(variables_[0].arg.node(), call);
    return AddExits(call);
  }

  absl::Status AddExits(Node* call) {
    std::vector<Output> results;
    std::vector<Node*> exits;
    for (size_t i = 0; i < variables_.size(); ++i) {
      const Variable& variable = variables_[i];
      const bool is_token = static_cast<int>(i) >= node().num_inputs();
      Output result;
      if (!variable.is_resource) {
        const Output value = is_token ? variable.arg : Output(call, static_cast<int>(i));
        ASSIGN_OR_RETURN(Output next, replacement_.AddOp("next", "NextIteration", {{value}}));
        RETURN_IF_ERROR(graph()->AddEdge(next.node(), 0, variable.merge.node(), 1).status());
        if (is_token) graph()->AddControlEdge(call, next.node());
        ASSIGN_OR_RETURN(result, replacement_.AddOp("exit", "Exit", {{Output(variable.branch.node(), 0)}}));
        exits.push_back(result.node());
      }
      if (!is_token) results.push_back(result);
    }
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i].valid()) continue;
      const Output& source = variables_[i].source;
      ASSIGN_OR_RETURN(results[i],
                       replacement_.AddOp("resource", "Identity", {{source}}, &source.node()->requested_device()));
      for (Node* exit : exits) graph()->AddControlEdge(exit, results[i].node());
    }
    return replacement_.Finish(results, exits);
  }

  // A variable that goes around and is not a resource.
  const Variable* Carrier() const {
    for (const Variable& variable : variables_) {
      if (!variable.is_resource) return &variable;
    }
    return nullptr;
  }
  const Node& node() const { return *replacement_.node(); }
  Graph* graph() const { return replacement_.graph(); }

  NodeReplacement replacement_;
  NameAttrList cond_, body_;
  int64_t parallel_iterations_ = 10;
  std::vector<Variable> variables_;
  Output loop_cond_;
};

}  // namespace

absl::Status LowerWhile(Node* node, Graph* graph) { return WhileLowering(node, graph).Run(); }

}  // namespace weir
