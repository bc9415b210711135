#include "kernels/data/dataset_graph.h"

#include <set>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_split.h"
#include "core/kernel/function_runtime.h"
#include "core/op/attr_value.h"
#include "core/tensor/tensor_proto.h"
#include "kernels/data/stateful_functions.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/function.pb.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {
namespace {

constexpr char kResult[] = "dataset";

class GraphWriter {
 public:
  explicit GraphWriter(tensorflow::GraphDef* graph) : graph_(graph) {}

  // Adds what makes the dataset; gives the name of its node.
  absl::StatusOr<std::string> Add(const DatasetBase& dataset) {
    auto known = names_.find(&dataset);
    if (known != names_.end()) return known->second;
    const DatasetOrigin& origin = dataset.origin();
    if (origin.node == nullptr) {
      return errors::FailedPrecondition("A dataset of type ", dataset.DebugString(),
                                        " holds elements that were computed and cannot be written as a graph");
    }
    std::vector<std::string> inputs;
    for (const Tensor& input : origin.inputs) {
      ASSIGN_OR_RETURN(inputs.emplace_back(), AddInput(input, *origin.node));
    }
    tensorflow::NodeDef node = *origin.node;
    const std::string name = NewName(node.op());
    node.set_name(name);
    node.clear_device();
    node.clear_input();
    for (const std::string& input : inputs) node.add_input(input);
    for (const auto& [key, attr] : node.attr()) {
      if (attr.has_func()) RETURN_IF_ERROR(AddFunction(attr.func().name(), origin.functions.get()));
    }
    *graph_->add_node() = std::move(node);
    names_[&dataset] = name;
    return name;
  }

 private:
  std::string NewName(absl::string_view op) { return absl::StrCat(op, "/_", graph_->node_size()); }

  absl::StatusOr<std::string> AddInput(const Tensor& tensor, const tensorflow::NodeDef& user) {
    if (absl::StatusOr<DatasetPtr> dataset = DatasetFromTensor(tensor); dataset.ok()) return Add(**dataset);
    tensorflow::NodeDef node;
    // A generator or cache of another's is no part of the description: what is made anew has its own.
    const bool is_cache = user.op() == "CacheDatasetV2";
    const bool has_own = is_cache || absl::StrContains(user.op(), "huffle") || user.op() == "RandomDatasetV2";
    if (tensor.dtype() == DT_RESOURCE && has_own) {
      node.set_op(is_cache ? "DummyMemoryCache" : "DummySeedGenerator");
    } else {
      node.set_op("Const");
      SetNodeAttr("dtype", tensor.dtype(), &node);
      RETURN_IF_ERROR(TensorToProto(tensor, (*node.mutable_attr())["value"].mutable_tensor()));
    }
    node.set_name(NewName(node.op()));
    *graph_->add_node() = node;
    return node.name();
  }

  // With those that it calls, however long the chain of calls is.
  absl::Status AddFunction(const std::string& name, const FunctionRuntime* functions) {
    for (std::vector<std::string> waiting = {name}; !waiting.empty();) {
      const std::string next = std::move(waiting.back());
      waiting.pop_back();
      if (!functions_.insert(next).second) continue;
      const tensorflow::FunctionDef* function = functions == nullptr ? nullptr : functions->Find(next);
      if (function == nullptr) return errors::NotFound("Function ", next, " is not defined.");
      *graph_->mutable_library()->add_function() = *function;
      for (const auto& node : function->node_def()) {
        if (functions->Find(node.op()) != nullptr) waiting.push_back(node.op());
        for (const auto& [key, attr] : node.attr()) {
          if (attr.has_func()) waiting.push_back(attr.func().name());
          for (const auto& called : attr.list().func()) waiting.push_back(called.name());
        }
      }
    }
    return absl::OkStatus();
  }

  tensorflow::GraphDef* const graph_;
  absl::flat_hash_map<const DatasetBase*, std::string> names_;
  std::set<std::string> functions_;
};

// "node" or "node:0" of a graph as a function's body writes it. Every op that stands in such graphs has one output.
absl::StatusOr<std::string> FunctionInput(const std::string& input,
                                          const absl::flat_hash_map<std::string, std::string>& outputs) {
  if (!input.empty() && input[0] == '^') return input;
  const std::vector<std::string> parts = absl::StrSplit(input, ':');
  auto found = outputs.find(parts[0]);
  if (found == outputs.end()) return errors::InvalidArgument("The graph has no node '", parts[0], "'");
  if (parts.size() > 2 || (parts.size() == 2 && parts[1] != "0")) {
    return errors::Unimplemented("DatasetFromGraph of a graph that uses '", input,
                                 "': only first outputs of nodes can be used");
  }
  return absl::StrCat(parts[0], ":", found->second, ":0");
}

}  // namespace

absl::Status CheckExternalState(const DatasetBase& dataset, ExternalStatePolicy policy) {
  if (policy == ExternalStatePolicy::kWarn || policy == ExternalStatePolicy::kIgnore) return absl::OkStatus();
  const DatasetOrigin& origin = dataset.origin();
  if (origin.node != nullptr && origin.functions != nullptr) {
    const std::string op = StatefulOp(*origin.node, *origin.functions);
    if (!op.empty() && policy == ExternalStatePolicy::kFail) return errors::FailedPrecondition(op, " is stateful.");
    if (!op.empty()) {
      return errors::InvalidArgument("Unexpected value of external policy: ", static_cast<int64_t>(policy));
    }
  }
  for (const DatasetPtr& input : dataset.inputs()) RETURN_IF_ERROR(CheckExternalState(*input, policy));
  return absl::OkStatus();
}

std::string SerializedOptions(const DatasetBase& dataset) {
  std::string options;
  for (const DatasetPtr& input : dataset.inputs()) options += SerializedOptions(*input);
  const auto& node = dataset.origin().node;
  std::string own;
  if (node != nullptr && node->op() == "OptionsDataset" && GetNodeAttr(*node, "serialized_options", &own).ok()) {
    options += own;
  }
  return options;
}

absl::Status DatasetToGraphDef(const DatasetBase& dataset, tensorflow::GraphDef* graph) {
  ASSIGN_OR_RETURN(const std::string name, GraphWriter(graph).Add(dataset));
  tensorflow::NodeDef* result = graph->add_node();
  result->set_name(kResult);
  result->set_op("_Retval");
  result->add_input(name);
  SetNodeAttr("T", DT_VARIANT, result);
  SetNodeAttr("index", int64_t{0}, result);
  return absl::OkStatus();
}

absl::Status GraphToFunction(const tensorflow::GraphDef& graph, tensorflow::FunctionDef* function) {
  absl::flat_hash_map<std::string, std::string> outputs;
  for (const auto& node : graph.node()) {
    const bool is_other = node.op() == "Const" || node.op() == "Identity";
    outputs[node.name()] = is_other ? "output" : "handle";
  }
  tensorflow::OpDef::ArgDef* result = function->mutable_signature()->add_output_arg();
  result->set_name(kResult);
  result->set_type(tensorflow::DT_VARIANT);
  for (const auto& node : graph.node()) {
    if (node.op() == "_Retval") {
      if (node.input_size() != 1) return errors::InvalidArgument("A _Retval node needs one input");
      ASSIGN_OR_RETURN((*function->mutable_ret())[kResult], FunctionInput(node.input(0), outputs));
      continue;
    }
    tensorflow::NodeDef* copy = function->add_node_def();
    *copy = node;
    for (std::string& input : *copy->mutable_input()) {
      ASSIGN_OR_RETURN(input, FunctionInput(input, outputs));
    }
  }
  if (!function->ret().empty()) return absl::OkStatus();
  return errors::InvalidArgument("The graph has no _Retval node, which would name its dataset");
}

}  // namespace weir
