#include "graph/passes/mixed_precision.h"

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/device/device.h"
#include "core/device/device_name.h"
#include "core/logging.h"
#include "core/op/attr_value.h"
#include "graph/output.h"
#include "graph/passes/mixed_precision_painter.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {
namespace {

using tensorflow::NodeDef;

absl::string_view DeviceTypeOf(MixedPrecisionMode mode) {
  const bool on_gpu = mode == MixedPrecisionMode::kFloat16OnGpu || mode == MixedPrecisionMode::kBfloat16OnGpu;
  return on_gpu ? kDeviceGpu : kDeviceCpu;
}

// Batch normalisation V1 has one type for values and statistics; V2 keeps statistics in float.
absl::Status SeparateTypesOfStatistics(Node* node, Graph* graph) {
  NodeDef def = node->def();
  def.set_op(absl::StrCat(node->op(), "V2"));
  SetNodeAttr("U", DT_FLOAT, &def);
  const std::vector<Edge*> edges = node->in_edges();
  std::vector<Edge> inputs;
  for (const Edge* edge : edges) inputs.push_back(*edge);
  RETURN_IF_ERROR(graph->ChangeOp(node, std::move(def)));
  for (const Edge& edge : inputs) {
    if (edge.is_control()) {
      graph->AddControlEdge(edge.src, node);
    } else {
      RETURN_IF_ERROR(graph->AddEdge(edge.src, edge.src_output, node, edge.dst_input).status());
    }
  }
  return absl::OkStatus();
}

// Replaces nodes by ones of other types, with casts in between.
class Retyping {
 public:
  explicit Retyping(Graph* graph) : graph_(graph) {}

  int num_casts() const { return static_cast<int>(casts_.size()); }

  // `defs`: nodes and their replacements.
  absl::Status Run(std::vector<std::pair<Node*, NodeDef>> defs) {
    for (auto& [node, def] : defs) {
      def.set_name(graph_->UniqueName(absl::StrCat(node->name(), "/retyped")));
      ASSIGN_OR_RETURN(Node * made, graph_->AddNode(std::move(def)));
      made->set_assigned_device(node->assigned_device());
      new_[node] = made;
    }
    for (const auto& [node, def] : defs) RETURN_IF_ERROR(MoveEdges(node));
    for (const auto& [node, def] : defs) {
      const std::string name = node->name();
      graph_->RemoveNode(node);
      RETURN_IF_ERROR(graph_->RenameNode(new_.at(node), name));
    }
    return absl::OkStatus();
  }

 private:
  Node* Now(Node* node) const {
    const auto it = new_.find(node);
    return it == new_.end() ? node : it->second;
  }

  // Moves edges from the old node to nodes that stay; edges between replaced nodes are created with their inputs.
  absl::Status MoveEdges(Node* node) {
    Node* const made = Now(node);
    for (const Edge* edge : node->in_edges()) {
      if (edge->is_control()) {
        graph_->AddControlEdge(Now(edge->src), made);
        continue;
      }
      ASSIGN_OR_RETURN(const Output source, As(made->input_type(edge->dst_input), *edge));
      RETURN_IF_ERROR(graph_->AddEdge(source.node(), source.index(), made, edge->dst_input).status());
    }
    const std::vector<Edge*> readers = node->out_edges();
    for (const Edge* edge : readers) {
      Node* const reader = edge->dst;
      if (edge->is_control()) {
        graph_->AddControlEdge(made, Now(reader));
        continue;
      }
      if (new_.contains(reader)) continue;
      const int input = edge->dst_input;
      ASSIGN_OR_RETURN(const Output source, As(reader->input_type(input), *edge));
      RETURN_IF_ERROR(graph_->ReplaceInput(reader, input, source.node(), source.index()));
    }
    return absl::OkStatus();
  }

  // The tensor of `edge`, cast if it has another type.
  absl::StatusOr<Output> As(DataType wanted, const Edge& edge) {
    const Output source(Now(edge.src), edge.src_output);
    const DataType given = RemoveRef(source.node()->output_type(source.index()));
    if (given == RemoveRef(wanted)) return source;
    Node*& cast = casts_[{source.node(), source.index()}];
    if (cast == nullptr) {
      ASSIGN_OR_RETURN(cast, AddCast(*edge.src, source, given, RemoveRef(wanted)));
    }
    return Output(cast, 0);
  }

  absl::StatusOr<Node*> AddCast(const Node& before, const Output& source, DataType from, DataType to) {
    NodeDef def;
    const absl::string_view what = to == DT_FLOAT ? "CastToFp32" : to == DT_HALF ? "CastToFp16" : "CastToBf16";
    def.set_name(
        graph_->UniqueName(absl::StrCat(before.name(), "-", source.index(), "-", what, "-AutoMixedPrecision")));
    def.set_op("Cast");
    def.set_device(before.requested_device());
    SetNodeAttr("SrcT", from, &def);
    SetNodeAttr("DstT", to, &def);
    ASSIGN_OR_RETURN(Node * cast, graph_->AddNode(std::move(def)));
    cast->set_assigned_device(before.assigned_device());
    RETURN_IF_ERROR(graph_->AddEdge(source.node(), source.index(), cast, 0).status());
    return cast;
  }

  Graph* const graph_;
  absl::flat_hash_map<const Node*, Node*> new_;
  absl::flat_hash_map<std::pair<const Node*, int>, Node*> casts_;  // by source: each tensor has one other type
};

class MixedPrecisionPass : public Pass {
 public:
  explicit MixedPrecisionPass(MixedPrecisionOptions options) : options_(std::move(options)) {}

  absl::string_view name() const override { return MixedPrecisionModeName(options_.mode); }

  absl::Status Run(const PassContext& context, Graph* graph, int* changes) const override {
    ASSIGN_OR_RETURN(const MixedPrecisionLists lists, MixedPrecisionLists::Make(options_.mode, options_.settings));
    absl::flat_hash_set<std::string> kept = context.KeptNodes();
    kept.merge(context.FedNodes());
    const auto may_change = [&](const Node& node) { return IsOnDevice(node) && !kept.contains(node.name()); };
    for (Node* node : graph->nodes()) {
      if ((node->op() == "FusedBatchNorm" || node->op() == "FusedBatchNormGrad") && may_change(*node) &&
          node->output_type(0) == DT_FLOAT) {
        RETURN_IF_ERROR(SeparateTypesOfStatistics(node, graph));
      }
    }
    const DataType type = TypeOf(options_.mode);
    TypeView view(*graph);
    // By node and attribute: every entry of a list of types accepts the same ones.
    absl::flat_hash_map<std::pair<const Node*, std::string>, bool> known;
    const auto has_kernel = [&](const TypeView::Slot& slot) {
      const auto [found, is_new] = known.try_emplace({slot.node, slot.attr}, false);
      if (!is_new) return found->second;
      NodeDef def = slot.node->def();
      SetSlotType(slot, type, &def);
      found->second = ValidateNodeAttrs(def, slot.node->op_def()).ok() &&
                      options_.kernels->Find(def, DeviceTypeOf(options_.mode)).ok();
      return found->second;
    };
    const std::vector<bool> painted =
        MixedPrecisionPainter(
            {.level = options_.settings.level, .lists = &lists, .may_change = may_change, .has_kernel = has_kernel},
            &view)
            .Paint();
    std::vector<std::pair<Node*, NodeDef>> defs;
    for (Node* node : graph->nodes()) {
      NodeDef def = node->def();
      bool changed = false;
      for (int slot : view.SlotsOf(*node)) {
        if (!painted[slot]) continue;
        SetSlotType(view.slot(slot), type, &def);
        changed = true;
      }
      if (changed) defs.emplace_back(node, std::move(def));
    }
    const int num_nodes = graph->num_nodes(), num_changed = static_cast<int>(defs.size());
    if (defs.empty()) return absl::OkStatus();
    Retyping retyping(graph);
    RETURN_IF_ERROR(retyping.Run(std::move(defs)));
    WEIR_LOG(INFO)
            .With("pass", name())
            .With("nodes", num_nodes)
            .With("converted", num_changed)
            .With("casts", retyping.num_casts())
        << "nodes compute with " << (type == DT_HALF ? "float16" : "bfloat16");
    *changes += num_changed;
    return absl::OkStatus();
  }

 private:
  bool IsOnDevice(const Node& node) const {
    const absl::StatusOr<DeviceName> device = DeviceName::Parse(node.assigned_device());
    return device.ok() && device->type == DeviceTypeOf(options_.mode);
  }

  const MixedPrecisionOptions options_;
};

}  // namespace

std::unique_ptr<Pass> MakeMixedPrecisionPass(MixedPrecisionOptions options) {
  return std::make_unique<MixedPrecisionPass>(std::move(options));
}

}  // namespace weir
