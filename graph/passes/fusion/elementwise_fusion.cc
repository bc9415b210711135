#include "graph/passes/fusion/elementwise_fusion.h"

#include <map>
#include <set>
#include <utility>

#include "core/device/device_name.h"
#include "core/fusion/fused_node.h"
#include "core/op/attr_value.h"
#include "graph/passes/custom_optimizers.h"
#include "graph/passes/fusion/fusable_nodes.h"
#include "graph/passes/fusion/fusion_groups.h"
#include "tensorflow/core/protobuf/rewriter_config.pb.h"

namespace weir {
namespace {

// The bias of a BiasAdd is indexed by channel, unlike all other operands.
bool StaysOutside(const Edge& edge) {
  return edge.dst_input == 1 && (edge.dst->op() == "BiasAdd" || edge.dst->op() == "BiasAddV1");
}

// Replaces a group by one node.
class Fusion {
 public:
  Fusion(const std::vector<Node*>& group, Graph* graph)
      : group_(group), members_(group.begin(), group.end()), graph_(graph) {}

  absl::Status Run() {
    for (const Node* node : group_) TakeInputs(*node);
    for (const Node* node : group_) Describe(*node);
    for (const Node* node : group_) FindReaders(*node);
    RETURN_IF_ERROR(CheckFusedExpression(result_.expression));
    return Replace();
  }

 private:
  using Tensor = std::pair<Node*, int>;

  bool IsInside(const Edge& edge) const { return members_.contains(edge.src); }
  // The axes of a reduction become an attribute; their control inputs are kept.
  static bool AreAxes(const Edge& edge) { return IsFusedFold(edge.dst->op()) && edge.dst_input == 1; }

  void TakeInputs(const Node& node) {
    for (const Edge* edge : node.in_edges()) {
      if (edge->is_control()) {
        if (!IsInside(*edge)) controls_before_.push_back(edge->src);
      } else if (AreAxes(*edge)) {
        for (const Edge* before : edge->src->in_edges()) controls_before_.push_back(before->src);
      }
    }
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Edge& edge = *node.input_edge(i);
      if (IsInside(edge) || AreAxes(edge)) continue;
      const Tensor tensor = {edge.src, edge.src_output};
      if (!StaysOutside(edge) && !input_of_.try_emplace(tensor, inputs_.size()).second) continue;
      if (StaysOutside(edge)) own_input_of_[&edge] = static_cast<int>(inputs_.size());
      inputs_.push_back(tensor);
      result_.expression.inputs.push_back(edge.src->output_type(edge.src_output));
    }
  }

  int ValueOf(const Edge& edge) const {
    if (IsInside(edge)) return value_of_.at(edge.src);
    const auto own = own_input_of_.find(&edge);
    return own != own_input_of_.end() ? own->second : input_of_.at({edge.src, edge.src_output});
  }

  void Describe(const Node& node) {
    FusedExpression& expression = result_.expression;
    result_.names.push_back(node.name());
    if (std::optional<FusedStep> step = StepOf(node); step.has_value()) {
      for (int i = 0; i < node.num_inputs(); ++i) step->operands.push_back(ValueOf(*node.input_edge(i)));
      value_of_[&node] = expression.num_values();
      expression.steps.push_back(*std::move(step));
      return;
    }
    FusedFold fold = *FoldOf(node);
    value_of_[&node] = ValueOf(*node.input_edge(0));
    expression.fold = std::move(fold.op);
    expression.axes = std::move(fold.axes);
    expression.keep_dims = fold.keep_dims;
  }

  // The last node of a group is an output even if it is not read.
  void FindReaders(const Node& node) {
    int output = -1;
    for (const Edge* edge : node.out_edges()) {
      if (members_.contains(edge->dst)) continue;
      if (output < 0) output = AddOutput(node);
      if (edge->is_control()) {
        controls_after_.push_back(edge->dst);
      } else {
        readers_.push_back({{edge->dst, edge->dst_input}, output});
      }
    }
    if (output < 0 && &node == group_.back()) AddOutput(node);
  }
  int AddOutput(const Node& node) {
    result_.expression.outputs.push_back(value_of_.at(&node));
    return static_cast<int>(result_.expression.outputs.size()) - 1;
  }

  absl::Status Replace() {
    const Node& last = *group_.back();
    tensorflow::NodeDef def;
    def.set_name(graph_->UniqueName(absl::StrCat(last.name(), "/_fused")));
    def.set_device(last.requested_device());
    SetFusedNode(result_, &def);
    ASSIGN_OR_RETURN(Node * node, graph_->AddNode(std::move(def)));
    node->set_assigned_device(last.assigned_device());
    for (size_t i = 0; i < inputs_.size(); ++i) {
      RETURN_IF_ERROR(graph_->AddEdge(inputs_[i].first, inputs_[i].second, node, static_cast<int>(i)).status());
    }
    for (Node* source : controls_before_) graph_->AddControlEdge(source, node);
    for (Node* reader : controls_after_) graph_->AddControlEdge(node, reader);
    for (const auto& [reader, output] : readers_) {
      RETURN_IF_ERROR(graph_->ReplaceInput(reader.first, reader.second, node, output));
    }
    Node* const axes = result_.expression.fold.empty() ? nullptr : last.input_edge(1)->src;
    for (Node* member : group_) graph_->RemoveNode(member);
    if (axes != nullptr && axes->out_edges().empty()) graph_->RemoveNode(axes);
    return absl::OkStatus();
  }

  const std::vector<Node*>& group_;
  const std::set<const Node*> members_;
  Graph* const graph_;
  FusedNode result_;
  std::vector<Tensor> inputs_;
  std::map<Tensor, int> input_of_;
  std::map<const Edge*, int> own_input_of_;
  std::map<const Node*, int> value_of_;
  std::vector<std::pair<std::pair<Node*, int>, int>> readers_;  // and the output that they read
  std::vector<Node*> controls_before_, controls_after_;
};

class ElementwiseFusionPass : public Pass {
 public:
  explicit ElementwiseFusionPass(std::string device_type) : device_type_(std::move(device_type)) {}

  absl::string_view name() const override { return "elementwise_fusion"; }

  absl::Status Run(const PassContext& context, Graph* graph, int* changes) const override {
    absl::flat_hash_set<std::string> kept = context.KeptNodes();
    kept.merge(context.FedNodes());
    std::vector<bool> steps(graph->num_node_ids()), folds(graph->num_node_ids());
    for (const Node* node : graph->nodes()) {
      if (kept.contains(node->name()) || !IsOnDevice(*node)) continue;
      steps[node->id()] = StepOf(*node).has_value();
      folds[node->id()] = FoldOf(*node).has_value() && !kept.contains(node->input_edge(1)->src->name());
    }
    const FusionRules rules{.is_step = [&](const Node& node) { return steps[node.id()]; },
                            .is_fold = [&](const Node& node) { return folds[node.id()]; },
                            .stays_outside = StaysOutside};
    for (const std::vector<Node*>& group : FindFusionGroups(*graph, rules)) {
      RETURN_IF_ERROR(Fusion(group, graph).Run());
      ++*changes;
    }
    return absl::OkStatus();
  }

 private:
  bool IsOnDevice(const Node& node) const {
    const absl::StatusOr<DeviceName> device = DeviceName::Parse(node.assigned_device());
    return device.ok() && device->type == device_type_;
  }

  const std::string device_type_;
};

}  // namespace

absl::StatusOr<bool> AsksForFusion(const tensorflow::GraphOptions& options) {
  ASSIGN_OR_RETURN(const bool by_name, AsksForCustomOptimizer(options.rewrite_options(), kGpuFusionOptimizer));
  return by_name || options.optimizer_options().global_jit_level() > 0;
}

std::unique_ptr<Pass> MakeElementwiseFusionPass(std::string device_type) {
  return std::make_unique<ElementwiseFusionPass>(std::move(device_type));
}

}  // namespace weir
