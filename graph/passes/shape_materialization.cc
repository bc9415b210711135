// Replaces shapes, sizes and ranks that are known before execution by constants.
#include <algorithm>
#include <optional>

#include "core/op/attr_value.h"
#include "core/tensor/tensor_proto.h"
#include "graph/passes/pass_manager.h"
#include "graph/shapes/shape_refiner.h"

namespace weir {
namespace {

// The value of an output; nullopt if the shape of its input is unknown.
std::optional<Tensor> ValueOf(const Node& node, int output, const ShapeRefiner& shapes) {
  const Edge* const input = node.input_edge(output < node.num_inputs() ? output : 0);
  if (input == nullptr) return std::nullopt;
  PartialTensorShape partial = shapes.shape(*input->src, input->src_output);
  if (node.op() == "VariableShape") {
    const auto& handle = shapes.handle(*input->src, input->src_output);
    if (handle.size() != 1) return std::nullopt;
    partial = handle[0].shape;
  }
  const auto shape = partial.AsTensorShape();
  if (!shape.ok()) return std::nullopt;
  const bool is_long = node.output_type(output) == DT_INT64;
  const auto scalar = [&](int64_t value) {
    return is_long ? Tensor::Scalar<int64_t>(value) : Tensor::Scalar<int32_t>(static_cast<int32_t>(value));
  };
  if (node.op() == "Rank") return scalar(shape->dims());
  if (node.op() == "Size") return scalar(shape->num_elements());
  if (is_long) return Tensor::Vector<int64_t>(shape->dim_sizes());
  const std::vector<int32_t> dims(shape->dim_sizes().begin(), shape->dim_sizes().end());
  return Tensor::Vector<int32_t>(dims);
}

bool IsShapeOp(const Node& node) {
  return node.op() == "Shape" || node.op() == "ShapeN" || node.op() == "Size" || node.op() == "Rank" ||
         node.op() == "VariableShape";
}

// Tensors that pass through control flow may be dead; then nodes that depend on them must be dead too.
bool HasControlFlow(const Graph& graph) {
  for (const Node* node : graph.nodes()) {
    if (node->IsControlFlow()) return true;
  }
  return false;
}

class ShapeMaterializationPass : public Pass {
 public:
  absl::string_view name() const override { return "shape_materialization"; }

  absl::Status Run(const PassContext& context, Graph* graph, int* changes) const override {
    if (HasControlFlow(*graph)) return absl::OkStatus();
    ShapeOptions options;
    options.strict = false;
    ASSIGN_OR_RETURN(const ShapeRefiner shapes, InferShapes(*graph, std::move(options)));
    const auto fed = context.FedNodes(), kept = context.KeptNodes();
    for (Node* node : graph->nodes()) {
      if (!IsShapeOp(*node) || fed.contains(node->name()) || kept.contains(node->name())) continue;
      const bool reads_feed = std::any_of(node->in_edges().begin(), node->in_edges().end(), [&](const Edge* edge) {
        return fed.contains(edge->src->name()) && edge->src->op() != "Placeholder";
      });
      if (!reads_feed) RETURN_IF_ERROR(Replace(node, shapes, graph, changes));
    }
    return absl::OkStatus();
  }

 private:
  // Readers of a known output read the constant instead; the node is removed when it has no readers.
  static absl::Status Replace(Node* node, const ShapeRefiner& shapes, Graph* graph, int* changes) {
    for (int i = 0; i < node->num_outputs(); ++i) {
      const std::optional<Tensor> value = ValueOf(*node, i, shapes);
      if (!value) continue;
      tensorflow::NodeDef def;
      def.set_name(graph->UniqueName(absl::StrCat(node->name(), "/known")));
      def.set_op("Const");
      def.set_device(node->requested_device());
      SetNodeAttr("dtype", value->dtype(), &def);
      SetNodeAttr("value", *value, &def);
      for (const char* attr : {"_class", "_mesh"}) {
        if (const auto* found = FindAttr(node->def(), attr); found != nullptr) SetNodeAttr(attr, *found, &def);
      }
      ASSIGN_OR_RETURN(Node * constant, graph->AddNode(std::move(def)));
      constant->set_assigned_device(node->assigned_device());
      const std::vector<Edge*> readers = node->out_edges();
      for (const Edge* edge : readers) {
        if (edge->src_output == i) RETURN_IF_ERROR(graph->ReplaceInput(edge->dst, edge->dst_input, constant, 0));
      }
      ++*changes;
    }
    if (node->out_edges().empty()) graph->RemoveNode(node);
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<Pass> MakeShapeMaterializationPass() { return std::make_unique<ShapeMaterializationPass>(); }

}  // namespace weir
