#include "graph/functions/lower_functions.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "core/op/attr_value.h"
#include "core/tensor/tensor_proto.h"
#include "graph/functions/function_body.h"
#include "graph/functions/function_recursion.h"
#include "graph/functions/lower_control_flow.h"
#include "graph/gradients/function_gradient.h"
#include "graph/node_replacement.h"
#include "tensorflow/core/framework/attr_value.pb.h"

namespace weir {
namespace {

using tensorflow::NameAttrList;

bool AsksForLowering(const Node& node) {
  bool wanted = false;
  return GetNodeAttr(node.def(), "_lower_using_switch_merge", &wanted).ok() && wanted;
}

// The value of `node` if it is a constant string.
std::string ConstantString(const Node& node) {
  if (!node.IsConstant() || node.output_type(0) != DT_STRING) return "";
  const tensorflow::AttrValue* value = FindAttr(node.def(), "value");
  if (value == nullptr) return "";
  absl::StatusOr<Tensor> tensor = TensorFromProto(value->tensor());
  return tensor.ok() && tensor->dims() == 0 ? std::string(tensor->scalar<tstring>()) : "";
}

class Lowering {
 public:
  Lowering(const LowerOptions& options, Graph* graph)
      : options_(options), graph_(graph), library_(graph->functions()), recursive_(RecursiveFunctions(library_)) {}

  absl::StatusOr<bool> Run() {
    std::vector<Node*> open = graph_->nodes();
    const int most_nodes = graph_->num_nodes() + options_.max_new_nodes;
    bool changed = false;
    while (!open.empty()) {
      const int first_new = graph_->num_node_ids();
      for (Node* node : open) {
        if (graph_->num_nodes() > most_nodes) return changed;
        if (options_.check) RETURN_IF_ERROR(options_.check());
        ASSIGN_OR_RETURN(const bool replaced, Lower(node, /*wanted=*/false));
        changed = changed || replaced;
      }
      open.clear();
      for (int id = first_new; id < graph_->num_node_ids(); ++id) {
        if (graph_->node(id) != nullptr) open.push_back(graph_->node(id));
      }
    }
    return changed;
  }

  // `wanted`: lower it whether or not its attribute requests it.
  absl::StatusOr<bool> Lower(Node* node, bool wanted) {
    const std::string& op = node->op();
    using LowerFn = absl::Status (*)(Node*, Graph*);
    const LowerFn lower = op == "If" || op == "StatelessIf"         ? &LowerIf
                          : op == "Case" || op == "StatelessCase"   ? &LowerCase
                          : op == "While" || op == "StatelessWhile" ? &LowerWhile
                                                                    : nullptr;
    if (lower != nullptr) {
      if (!(wanted || AsksForLowering(*node)) || CallsRecursive(*node)) return false;
      RETURN_IF_ERROR(lower(node, graph_));
      return true;
    }
    if (op == "SymbolicGradient") return LowerGradient(node);
    if (op == "RemoteCall") return LowerCallElsewhere(node);
    return LowerCall(node);
  }

 private:
  bool CallsRecursive(const Node& node) const {
    for (const auto& [name, value] : node.def().attr()) {
      if (value.value_case() == tensorflow::AttrValue::kFunc && recursive_.contains(value.func().name())) return true;
      for (const auto& function : value.list().func()) {
        if (recursive_.contains(function.name())) return true;
      }
    }
    return false;
  }

  absl::StatusOr<bool> LowerCall(Node* node) {
    const NameAttrList called = CalledFunction(*node);
    const tensorflow::FunctionDef* function = called.name().empty() ? nullptr : library_.Find(called.name());
    if (function == nullptr || recursive_.contains(called.name())) return false;
    const AttrMap attrs(called.attr().begin(), called.attr().end());
    return Inline(InstantiateFunction(*function, attrs, graph_->ops(), library_), node);
  }

  absl::StatusOr<bool> LowerGradient(Node* node) {
    NameAttrList function;
    RETURN_IF_ERROR(GetNodeAttr(node->def(), "f", &function));
    if (CallsRecursive(*node)) return false;
    return Inline(InstantiateGradient(function, graph_->ops(), library_), node);
  }

  absl::StatusOr<bool> Inline(absl::StatusOr<FunctionBody> body, Node* node) {
    if (!body.ok()) return Annotate(body.status(), absl::StrCat("Node '", node->name(), "'"));
    if (HasConditionalEffects(*body, *node)) return false;
    node->set_assigned_device("");
    RETURN_IF_ERROR(InlineFunctionCall(*body, node, graph_));
    return true;
  }

  // Lowers to a call on the named device, if that is known.
  absl::StatusOr<bool> LowerCallElsewhere(Node* node) {
    const Edge* target = node->input_edge(0);
    if (target == nullptr || CallsRecursive(*node)) return false;
    const std::string device = ConstantString(*target->src);
    if (device.empty()) {
      if (options_.devices.empty()) return false;
      RETURN_IF_ERROR(LowerRemoteCall(node, options_.devices, graph_));
      return true;
    }
    NodeReplacement replacement(node, graph_);
    absl::Status status = AddCallOn(device, &replacement);
    if (!status.ok()) replacement.Abandon();
    RETURN_IF_ERROR(status);
    return true;
  }

  static absl::Status AddCallOn(const std::string& device, NodeReplacement* replacement) {
    const Node& node = *replacement->node();
    NameAttrList function;
    RETURN_IF_ERROR(GetNodeAttr(node.def(), "f", &function));
    std::vector<Output> args, results;
    for (int i = 1; i < node.num_inputs(); ++i) {
      ASSIGN_OR_RETURN(Output arg, replacement->Input(i));
      args.push_back(arg);
    }
    ASSIGN_OR_RETURN(Node * call, replacement->AddCall("call", function, args, node.output_types()));
    SetNodeAttr(kWholeCallAttr, true, call->mutable_def());
    call->mutable_def()->set_device(device);
    replacement->InheritControl(call);
    for (int i = 0; i < node.num_outputs(); ++i) results.emplace_back(call, i);
    return replacement->Finish(results, {call});
  }

  const LowerOptions options_;
  Graph* const graph_;
  const FunctionLibrary library_;
  const absl::flat_hash_set<std::string> recursive_;
};

}  // namespace

bool CallsFunctions(const Node& node) {
  static constexpr const char* kOps[] = {
      "PartitionedCall", "StatefulPartitionedCall", "If",         "StatelessIf",     "Case", "StatelessCase",
      "While",           "StatelessWhile",          "RemoteCall", "SymbolicGradient"};
  return node.registration() == nullptr || std::find(std::begin(kOps), std::end(kOps), node.op()) != std::end(kOps);
}

absl::StatusOr<bool> LowerFunctions(const LowerOptions& options, Graph* graph) {
  const std::vector<Node*> nodes = graph->nodes();
  const bool has_calls =
      std::any_of(nodes.begin(), nodes.end(), [](const Node* node) { return CallsFunctions(*node); });
  if (!has_calls) return false;
  return Lowering(options, graph).Run();
}

absl::StatusOr<bool> LowerCall(Node* node, Graph* graph) { return Lowering({}, graph).Lower(node, /*wanted=*/true); }

}  // namespace weir
