// Constant folding.
#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "core/op/attr_value.h"
#include "core/tensor/tensor_proto.h"
#include "graph/passes/pass_manager.h"
#include "graph/shapes/shape_refiner.h"
#include "tensorflow/core/framework/attr_value.pb.h"

namespace weir {
namespace {

using tensorflow::NodeDef;

// Results up to this size may be larger than their inputs: beyond it folding would grow the graph.
constexpr int64_t kMaxGrowthBytes = 64 << 10;

class Folder {
 public:
  Folder(const PassContext& context, Graph* graph, ShapeRefiner shapes)
      : context_(context),
        graph_(graph),
        shapes_(std::move(shapes)),
        kept_(context.KeptNodes()),
        fed_(context.FedNodes()) {}

  absl::Status Run(int* changes) {
    for (Node* node : TopologicalOrder(*graph_)) {
      if (!IsFoldable(*node)) continue;
      std::vector<Tensor> inputs;
      if (!ReadInputs(*node, &inputs) || !IsSmall(*node, inputs)) continue;
      auto outputs = context_.evaluate(node->def(), inputs);
      if (!outputs.ok() || !Fits(*node, *outputs)) continue;
      RETURN_IF_ERROR(Replace(node, *outputs));
      ++*changes;
    }
    return absl::OkStatus();
  }

 private:
  bool IsFoldable(const Node& node) const;
  bool ReadInputs(const Node& node, std::vector<Tensor>* inputs);
  bool IsSmall(const Node& node, const std::vector<Tensor>& inputs) const;
  static bool Fits(const Node& node, const std::vector<Tensor>& outputs);
  absl::Status Replace(Node* node, const std::vector<Tensor>& outputs);
  absl::StatusOr<Node*> AddConstant(const Node& like, const std::string& name, const Tensor& value);

  const PassContext& context_;
  Graph* const graph_;
  const ShapeRefiner shapes_;
  const absl::flat_hash_set<std::string> kept_, fed_;
  absl::flat_hash_map<const Node*, Tensor> values_;  // of constants, existing or new
};

bool IsFoldableType(DataType type) { return IsPlainType(type) || type == DT_STRING; }

bool Folder::IsFoldable(const Node& node) const {
  if (node.registration() == nullptr || node.IsStateful() || node.IsControlFlow() || node.IsConstant()) return false;
  if (node.num_inputs() == 0 || node.num_outputs() == 0 || fed_.contains(node.name())) return false;
  if (node.num_outputs() > 1 && kept_.contains(node.name())) return false;
  // A placeholder's default is not its value.
  if (absl::StartsWith(node.op(), "Placeholder")) return false;
  const bool on_host = absl::StrContains(node.assigned_device(), "CPU") || node.assigned_device().empty();
  for (DataType type : node.output_types()) {
    if (!IsFoldableType(type) || (type == DT_STRING && !on_host)) return false;
  }
  for (int i = 0; i < node.num_inputs(); ++i) {
    const Edge* edge = node.input_edge(i);
    if (edge == nullptr || !edge->src->IsConstant() || fed_.contains(edge->src->name())) return false;
  }
  return true;
}

bool Folder::ReadInputs(const Node& node, std::vector<Tensor>* inputs) {
  for (int i = 0; i < node.num_inputs(); ++i) {
    const Node* constant = node.input_edge(i)->src;
    auto it = values_.find(constant);
    if (it == values_.end()) {
      const tensorflow::AttrValue* value = FindAttr(constant->def(), "value");
      auto tensor = TensorFromProto(value->tensor());
      if (!tensor.ok() || tensor->dtype() != node.input_type(i)) return false;
      it = values_.emplace(constant, *std::move(tensor)).first;
    }
    inputs->push_back(it->second);
  }
  return true;
}

// Checked before computing: a few bytes can request a tensor of any size.
bool Folder::IsSmall(const Node& node, const std::vector<Tensor>& inputs) const {
  int64_t bytes_in = 0, bytes_out = 0;
  for (const Tensor& input : inputs) bytes_in += input.TotalBytes();
  for (int i = 0; i < node.num_outputs(); ++i) {
    auto shape = shapes_.shape(node, i).AsTensorShape();
    if (!shape.ok()) return false;
    const int64_t bytes =
        MultiplyWithoutOverflow(shape->num_elements(), static_cast<int64_t>(DataTypeSize(node.output_type(i))));
    if (bytes < 0 || bytes > context_.max_constant_bytes - bytes_out) return false;
    bytes_out += bytes;
  }
  return bytes_out <= kMaxGrowthBytes || bytes_out <= bytes_in;
}

bool Folder::Fits(const Node& node, const std::vector<Tensor>& outputs) {
  return std::equal(outputs.begin(), outputs.end(), node.output_types().begin(), node.output_types().end(),
                    [](const Tensor& tensor, DataType type) { return tensor.dtype() == type; });
}

absl::StatusOr<Node*> Folder::AddConstant(const Node& like, const std::string& name, const Tensor& value) {
  NodeDef def;
  def.set_name(name);
  def.set_op("Const");
  def.set_device(like.requested_device());
  SetNodeAttr("dtype", value.dtype(), &def);
  RETURN_IF_ERROR(TensorToProto(value, (*def.mutable_attr())["value"].mutable_tensor()));
  if (const auto* colocation = FindAttr(like.def(), "_class"); colocation != nullptr) {
    (*def.mutable_attr())["_class"] = *colocation;
  }
  ASSIGN_OR_RETURN(Node * constant, graph_->AddNode(std::move(def)));
  constant->set_assigned_device(like.assigned_device());
  // Control inputs keep the result in the frame and branch of the node and its constant inputs.
  for (const Edge* edge : like.in_edges()) {
    if (edge->is_control()) {
      graph_->AddControlEdge(edge->src, constant);
      continue;
    }
    for (const Edge* before : edge->src->in_edges()) graph_->AddControlEdge(before->src, constant);
  }
  values_[constant] = value;
  return constant;
}

absl::Status Folder::Replace(Node* node, const std::vector<Tensor>& outputs) {
  std::vector<Node*> constants;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string name = graph_->UniqueName(absl::StrCat(node->name(), "/folded"));
    ASSIGN_OR_RETURN(Node * constant, AddConstant(*node, name, outputs[i]));
    constants.push_back(constant);
  }
  const std::vector<Edge*> users = node->out_edges();
  for (const Edge* edge : users) {
    Node* user = edge->dst;
    if (edge->is_control()) {
      for (Node* constant : constants) graph_->AddControlEdge(constant, user);
    } else {
      RETURN_IF_ERROR(graph_->ReplaceInput(user, edge->dst_input, constants[edge->src_output], 0));
    }
  }
  const std::string name = node->name();
  graph_->RemoveNode(node);
  return constants.size() == 1 ? graph_->RenameNode(constants[0], name) : absl::OkStatus();
}

class ConstantFoldingPass : public Pass {
 public:
  absl::string_view name() const override { return "constant_folding"; }
  absl::Status Run(const PassContext& context, Graph* graph, int* changes) const override {
    if (!context.evaluate) return absl::OkStatus();
    ShapeOptions options;
    options.strict = false;
    ASSIGN_OR_RETURN(ShapeRefiner shapes, InferShapes(*graph, std::move(options)));
    return Folder(context, graph, std::move(shapes)).Run(changes);
  }
};

}  // namespace

std::unique_ptr<Pass> MakeConstantFoldingPass() { return std::make_unique<ConstantFoldingPass>(); }

}  // namespace weir
