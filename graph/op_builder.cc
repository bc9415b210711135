#include "graph/op_builder.h"

#include "core/op/attr_value.h"
#include "graph/literal.h"
#include "tensorflow/core/framework/op_def.pb.h"

namespace weir {
namespace {

class OperationBuilder {
 public:
  OperationBuilder(Graph* graph, tensorflow::NodeDef def, const std::vector<InputList>& inputs)
      : graph_(graph), def_(std::move(def)), inputs_(inputs) {}

  absl::StatusOr<Operation> Build(const std::vector<Node*>& control) {
    ASSIGN_OR_RETURN(op_def_, graph_->ops().LookUp(def_.op()));
    if (static_cast<int>(inputs_.size()) != op_def_->input_arg_size()) {
      return errors::InvalidArgument("Op ", def_.op(), " takes ", op_def_->input_arg_size(), " inputs; node '",
                                     def_.name(), "' was given ", inputs_.size());
    }
    for (int i = 0; i < op_def_->input_arg_size(); ++i) RETURN_IF_ERROR(ResolveArg(i));
    ASSIGN_OR_RETURN(Node * node, graph_->AddNode(def_));
    for (size_t i = 0; i < sources_.size(); ++i) {
      RETURN_IF_ERROR(graph_->AddEdge(sources_[i].node(), sources_[i].index(), node, static_cast<int>(i)).status());
    }
    for (Node* before : control) graph_->AddControlEdge(before, node);
    return Operation(node);
  }

 private:
  absl::Status ResolveArg(int i) {
    const auto& arg = op_def_->input_arg(i);
    const DataType wanted = WantedType(arg);
    std::vector<Output> outputs;
    for (const Input& input : inputs_[i]) {
      ASSIGN_OR_RETURN(Output output, Resolve(input, wanted, arg));
      outputs.push_back(output);
    }
    InferAttrs(arg, outputs);
    sources_.insert(sources_.end(), outputs.begin(), outputs.end());
    return absl::OkStatus();
  }

  // The type for a literal at `arg`: the node's attribute if set, otherwise the type of another input with the same
  // type attribute.
  DataType WantedType(const tensorflow::OpDef_ArgDef& arg) const {
    if (arg.type_attr().empty()) return static_cast<DataType>(arg.type());
    if (const auto* attr = FindAttr(def_, arg.type_attr())) return static_cast<DataType>(attr->type());
    for (int i = 0; i < op_def_->input_arg_size(); ++i) {
      if (op_def_->input_arg(i).type_attr() != arg.type_attr()) continue;
      for (const Input& input : inputs_[i]) {
        if (!input.is_literal() && input.type() != DT_INVALID) return input.type();
      }
    }
    return DT_INVALID;
  }

  absl::StatusOr<Output> Resolve(const Input& input, DataType wanted, const tensorflow::OpDef_ArgDef& arg) {
    if (!input.is_constant()) {
      if (input.output().valid()) return input.output();
      return errors::InvalidArgument("Input '", arg.name(), "' of node '", def_.name(), "' (", def_.op(),
                                     ") was never built");
    }
    Tensor value = input.tensor();
    if (input.is_literal() && wanted != DT_INVALID) {
      auto converted = ConvertLiteral(value, wanted);
      if (!converted.ok()) {
        return Annotate(converted.status(),
                        absl::StrCat("Input '", arg.name(), "' of node '", def_.name(), "' (", def_.op(), ")"));
      }
      value = *std::move(converted);
    }
    return AddConstant(value, arg.name());
  }

  absl::StatusOr<Output> AddConstant(const Tensor& value, const std::string& arg) {
    tensorflow::NodeDef constant;
    constant.set_name(graph_->UniqueName(absl::StrCat(def_.name(), "/", arg)));
    constant.set_op("Const");
    constant.set_device(def_.device());
    SetNodeAttr("dtype", value.dtype(), &constant);
    SetNodeAttr("value", value, &constant);
    ASSIGN_OR_RETURN(Node * node, graph_->AddNode(std::move(constant)));
    return Output(node, 0);
  }

  void InferAttrs(const tensorflow::OpDef_ArgDef& arg, const std::vector<Output>& outputs) {
    auto missing = [this](const std::string& name) { return !name.empty() && FindAttr(def_, name) == nullptr; };
    if (missing(arg.number_attr())) SetNodeAttr(arg.number_attr(), static_cast<int64_t>(outputs.size()), &def_);
    if (missing(arg.type_attr()) && !outputs.empty()) SetNodeAttr(arg.type_attr(), outputs[0].type(), &def_);
    if (missing(arg.type_list_attr())) {
      DataTypeVector types;
      for (const Output& output : outputs) types.push_back(output.type());
      SetNodeAttr(arg.type_list_attr(), types, &def_);
    }
  }

  Graph* const graph_;
  tensorflow::NodeDef def_;
  const std::vector<InputList>& inputs_;
  const tensorflow::OpDef* op_def_ = nullptr;
  std::vector<Output> sources_;
};

}  // namespace

absl::StatusOr<Operation> AddOperation(Graph* graph, tensorflow::NodeDef def, const std::vector<InputList>& inputs,
                                       const std::vector<Node*>& control) {
  return OperationBuilder(graph, std::move(def), inputs).Build(control);
}

}  // namespace weir
