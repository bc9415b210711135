#include "graph/passes/layout.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "core/device/device.h"
#include "core/device/device_name.h"
#include "core/logging.h"
#include "core/op/attr_value.h"
#include "core/tensor/tensor.h"
#include "core/tensor/tensor_proto.h"
#include "core/tensor/tensor_shape.h"
#include "graph/output.h"
#include "graph/passes/layout_rules.h"
#include "graph/shapes/shape_refiner.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {
namespace {

using tensorflow::NodeDef;

DeviceName DeviceOf(const Node& node) { return DeviceName::Parse(node.assigned_device()).value_or(DeviceName()); }

absl::StatusOr<ShapeRefiner> LenientShapes(const Graph& graph) {
  ShapeOptions options;
  options.strict = false;
  return InferShapes(graph, std::move(options));
}

// Converts as much of a graph as possible.
class Conversion {
 public:
  Conversion(const LayoutOptions& options, bool with_short_floats, absl::flat_hash_set<std::string> kept,
             ShapeRefiner shapes, Graph* graph)
      : options_(options),
        with_short_floats_(with_short_floats),
        kept_(std::move(kept)),
        shapes_(std::move(shapes)),
        graph_(graph) {}

  absl::Status Run() {
    for (Node* node : graph_->nodes()) {
      if (IsSensitive(*node)) sensitive_.push_back(node);
    }
    for (Node* node : sensitive_) RETURN_IF_ERROR(Convert(node));
    for (Node* node : TopologicalOrder(*graph_)) {
      if (IsPassedThrough(*node)) RETURN_IF_ERROR(PassThrough(node));
    }
    RETURN_IF_ERROR(Cancel());
    RemoveUnread();
    return absl::OkStatus();
  }

  const std::vector<Node*>& sensitive() const { return sensitive_; }
  // The shapes before the conversion.
  const ShapeRefiner& shapes() const { return shapes_; }
  // The remaining transposes, and the tensors of the original graph that they read.
  std::vector<std::pair<const Node*, Output>> Transposes() const {
    std::vector<std::pair<const Node*, Output>> left;
    for (const auto* made : {&forward_, &back_}) left.insert(left.end(), made->begin(), made->end());
    return left;
  }

 private:
  bool MayChange(const Node& node) const {
    return DeviceOf(node).type == options_.device_type && !kept_.contains(node.name());
  }

  int RankOf(const Output& tensor) const { return RankOf(*tensor.node(), tensor.index()); }
  int RankOf(const Node& node, int output) const {
    // All nodes that the pass added are images.
    if (node.id() >= first_new_) return 4;
    const PartialTensorShape& shape = shapes_.shape(node, output);
    return shape.unknown_rank() ? -1 : shape.dims();
  }

  static Output Source(const Node& node, int input) {
    const Edge* edge = node.input_edge(input);
    return Output(edge->src, edge->src_output);
  }

  bool IsSensitive(const Node& node) const {
    const OpLayoutRule* rule = FindLayoutRule(node.op());
    if (rule == nullptr || !MayChange(node)) return false;
    std::string format;
    if (!GetNodeAttr(node.def(), "data_format", &format).ok() || format != options_.from) return false;
    const DataType type = node.output_type(0);
    if (!with_short_floats_ && (type == DT_HALF || type == DT_BFLOAT16)) return false;
    return std::all_of(rule->images.begin(), rule->images.end(),
                       [&](int i) { return node.input_edge(i) != nullptr && RankOf(Source(node, i)) == 4; });
  }

  absl::StatusOr<Node*> Add(const Node& beside, const std::string& name, NodeDef def, const std::string& device) {
    def.set_name(graph_->UniqueName(absl::StrCat(name, "-LayoutOptimizer")));
    def.set_device(device.empty() ? beside.requested_device() : device);
    ASSIGN_OR_RETURN(Node * node, graph_->AddNode(std::move(def)));
    node->set_assigned_device(device.empty() ? beside.assigned_device() : device);
    return node;
  }

  // Transposes `source` to the other layout, on `device` (empty: its own).
  absl::StatusOr<Node*> AddTranspose(const Output& source, absl::string_view from, absl::string_view to,
                                     const std::string& device) {
    const Node& beside = *source.node();
    const std::string name =
        absl::StrCat(beside.name(), "-", source.index(), "-Transpose", std::string(from), "To", std::string(to));
    NodeDef constant;
    constant.set_op("Const");
    SetNodeAttr("dtype", DT_INT32, &constant);
    std::vector<int32_t> order;
    for (int dimension : LayoutPermutation(from, to)) order.push_back(dimension);
    RETURN_IF_ERROR(
        TensorToProto(Tensor::Vector<int32_t>(order), (*constant.mutable_attr())["value"].mutable_tensor()));
    ASSIGN_OR_RETURN(Node * permutation, Add(beside, name + "-Permutation", std::move(constant), device));
    // Keeps the constant in the frame and branch of the tensor that it permutes.
    graph_->AddControlEdge(source.node(), permutation);
    NodeDef def;
    def.set_op("Transpose");
    SetNodeAttr("T", source.type(), &def);
    SetNodeAttr("Tperm", DT_INT32, &def);
    ASSIGN_OR_RETURN(Node * transpose, Add(beside, name, std::move(def), device));
    RETURN_IF_ERROR(graph_->AddEdge(source.node(), source.index(), transpose, 0).status());
    RETURN_IF_ERROR(graph_->AddEdge(permutation, 0, transpose, 1).status());
    return transpose;
  }

  // An input from another node, such as a feed, is transposed beside its reader.
  absl::StatusOr<Output> Forward(const Output& source, const Node& reader) {
    const bool is_near = DeviceOf(*source.node()).type == options_.device_type;
    const std::string device = is_near ? "" : reader.assigned_device();
    Node*& known = forward_of_[{source, device}];
    if (known == nullptr) {
      ASSIGN_OR_RETURN(known, AddTranspose(source, options_.from, options_.to, device));
      forward_[known] = source;
    }
    return Output(known, 0);
  }

  // Permutes the shape of an image for an op that now takes the other layout, or the reverse. On the host, which has
  // shapes.
  absl::StatusOr<Node*> AddShapePermutation(const Node& beside, const Output& shape, absl::string_view from,
                                            absl::string_view to) {
    NodeDef def;
    def.set_op("DataFormatVecPermute");
    SetNodeAttr("T", shape.type(), &def);
    SetNodeAttr("src_format", std::string(from), &def);
    SetNodeAttr("dst_format", std::string(to), &def);
    DeviceName host = DeviceOf(beside);
    host.type = kDeviceCpu;
    host.id = 0;
    ASSIGN_OR_RETURN(Node * node,
                     Add(beside, absl::StrCat(beside.name(), "-VecPermute"), std::move(def), host.ToString()));
    RETURN_IF_ERROR(graph_->AddEdge(shape.node(), shape.index(), node, 0).status());
    return node;
  }

  // Redirects readers of the output to a tensor in the original layout.
  absl::Status RestoreBehind(const Output& result) {
    std::vector<std::pair<Node*, int>> readers;
    for (const Edge* edge : result.node()->out_edges()) {
      if (!edge->is_control() && edge->src_output == result.index()) readers.emplace_back(edge->dst, edge->dst_input);
    }
    if (readers.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(Node * transpose, AddTranspose(result, options_.to, options_.from, ""));
    back_[transpose] = result;
    restored_.push_back(transpose);
    for (const auto& [reader, input] : readers) {
      RETURN_IF_ERROR(graph_->ReplaceInput(reader, input, transpose, 0));
    }
    return absl::OkStatus();
  }

  absl::Status Convert(Node* node) {
    const OpLayoutRule& rule = *FindLayoutRule(node->op());
    SetLayout(options_.from, options_.to, node->mutable_def());
    for (int input : rule.images) {
      ASSIGN_OR_RETURN(const Output image, Forward(Source(*node, input), *node));
      RETURN_IF_ERROR(graph_->ReplaceInput(node, input, image.node(), image.index()));
    }
    for (int input : rule.shapes) {
      ASSIGN_OR_RETURN(Node * shape, AddShapePermutation(*node, Source(*node, input), options_.from, options_.to));
      RETURN_IF_ERROR(graph_->ReplaceInput(node, input, shape, 0));
    }
    for (int output : rule.results) RETURN_IF_ERROR(RestoreBehind(Output(node, output)));
    return absl::OkStatus();
  }

  // Whether the op is element-wise, and all its inputs were just transposed back or are scalars.
  bool IsPassedThrough(const Node& node) const {
    if (node.id() >= first_new_ || !MayChange(node)) return false;
    if (node.registration() == nullptr || !node.registration()->elementwise) return false;
    if (RankOf(node, 0) != 4) return false;
    bool any = false;
    for (int i = 0; i < node.num_inputs(); ++i) {
      if (node.input_edge(i) == nullptr || IsRefType(node.input_type(i))) return false;
      const Output source = Source(node, i);
      const bool restored = back_.contains(source.node());
      if (!restored && RankOf(source) != 0) return false;
      any = any || restored;
    }
    return any;
  }

  absl::Status PassThrough(Node* node) {
    for (int i = 0; i < node->num_inputs(); ++i) {
      const auto restored = back_.find(Source(*node, i).node());
      if (restored == back_.end()) continue;
      const Output source = restored->second;
      RETURN_IF_ERROR(graph_->ReplaceInput(node, i, source.node(), source.index()));
    }
    return RestoreBehind(Output(node, 0));
  }

  absl::Status Cancel() {
    for (Node* transpose : restored_) {
      const Output source = back_.at(transpose);
      std::vector<Edge> readers;
      for (const Edge* edge : transpose->out_edges()) readers.push_back(*edge);
      for (const Edge& edge : readers) {
        if (edge.is_control()) continue;
        if (forward_.contains(edge.dst)) RETURN_IF_ERROR(MoveReaders(edge.dst, source));
        if (edge.dst->op() == "Shape" && MayChange(*edge.dst)) RETURN_IF_ERROR(TakeShapeOf(source, edge.dst));
      }
    }
    return absl::OkStatus();
  }

  absl::Status MoveReaders(Node* from, const Output& to) {
    // A copy: ReplaceInput changes out_edges.
    const std::vector<const Edge*> readers(from->out_edges().begin(), from->out_edges().end());
    for (const Edge* edge : readers) {
      if (edge->is_control()) continue;
      RETURN_IF_ERROR(graph_->ReplaceInput(edge->dst, edge->dst_input, to.node(), to.index()));
    }
    return absl::OkStatus();
  }

  absl::Status TakeShapeOf(const Output& image, Node* shape) {
    std::vector<std::pair<Node*, int>> readers;
    for (const Edge* edge : shape->out_edges()) {
      if (!edge->is_control()) readers.emplace_back(edge->dst, edge->dst_input);
    }
    RETURN_IF_ERROR(graph_->ReplaceInput(shape, 0, image.node(), image.index()));
    ASSIGN_OR_RETURN(Node * permuted, AddShapePermutation(*shape, Output(shape, 0), options_.to, options_.from));
    for (const auto& [reader, input] : readers) RETURN_IF_ERROR(graph_->ReplaceInput(reader, input, permuted, 0));
    return absl::OkStatus();
  }

  void RemoveUnread() {
    for (auto* made : {&forward_, &back_}) {
      for (auto it = made->begin(); it != made->end();) {
        Node* const transpose = it->first;
        if (!transpose->out_edges().empty()) {
          ++it;
          continue;
        }
        Node* const permutation = transpose->input_edge(1)->src;
        graph_->RemoveNode(transpose);
        graph_->RemoveNode(permutation);
        made->erase(it++);
      }
    }
  }

  const LayoutOptions& options_;
  const bool with_short_floats_;
  const absl::flat_hash_set<std::string> kept_;
  const ShapeRefiner shapes_;
  Graph* const graph_;
  const int first_new_ = graph_->num_node_ids();
  std::vector<Node*> sensitive_;
  absl::flat_hash_map<std::pair<Output, std::string>, Node*> forward_of_;  // by source and device
  // Transposes to the new layout, and back, with their sources.
  absl::flat_hash_map<Node*, Output> forward_, back_;
  std::vector<Node*> restored_;  // transposes back, in the order of creation
};

class LayoutPass : public Pass {
 public:
  explicit LayoutPass(LayoutOptions options) : options_(std::move(options)) {}

  absl::string_view name() const override { return "layout"; }

  absl::Status Run(const PassContext& context, Graph* graph, int* changes) const override {
    std::optional<bool> pays;
    if (options_.costs != nullptr) {
      ASSIGN_OR_RETURN(pays, Pays(context, *graph));
    }
    if (!pays.value_or(true)) return absl::OkStatus();
    const bool with_short_floats = pays.has_value() || options_.device_type != kDeviceGpu;
    ASSIGN_OR_RETURN(const Conversion conversion, Convert(context, with_short_floats, graph));
    *changes += static_cast<int>(conversion.sensitive().size());
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<Conversion> Convert(const PassContext& context, bool with_short_floats, Graph* graph) const {
    absl::flat_hash_set<std::string> kept = context.KeptNodes();
    kept.merge(context.FedNodes());
    ASSIGN_OR_RETURN(ShapeRefiner shapes, LenientShapes(*graph));
    Conversion conversion(options_, with_short_floats, std::move(kept), std::move(shapes), graph);
    RETURN_IF_ERROR(conversion.Run());
    return conversion;
  }

  // Whether the costs favour a conversion; nullopt if they are inconclusive. Tried on a copy, because callers hold
  // pointers to the graph's nodes.
  absl::StatusOr<std::optional<bool>> Pays(const PassContext& context, const Graph& graph) const {
    const std::unique_ptr<Graph> copy = graph.Clone();
    ASSIGN_OR_RETURN(const Conversion conversion, Convert(context, /*with_short_floats=*/true, copy.get()));
    if (conversion.sensitive().empty()) return std::optional<bool>();
    std::optional<double> before = 0, after = 0;
    const auto add = [](std::optional<double> cost, std::optional<double>* sum) {
      *sum = cost.has_value() && sum->has_value() ? std::optional<double>(**sum + *cost) : std::nullopt;
    };
    for (const Node* converted : conversion.sensitive()) {
      const Node& node = *graph.node(converted->id());
      const std::optional<double> old = CostOf(node, conversion.shapes(), options_.from);
      const std::optional<double> now = CostOf(node, conversion.shapes(), options_.to);
      if (old == now && old.has_value()) continue;  // including two infinities
      add(old, &before);
      add(now, &after);
    }
    if (!before.has_value() && !after.has_value()) return std::optional<bool>();
    for (const auto& [transpose, tensor] : conversion.Transposes()) {
      const auto shape = conversion.shapes().shape(*tensor.node(), tensor.index()).AsTensorShape();
      if (!shape.ok()) return std::optional<bool>();
      const int64_t bytes = MultiplyWithoutOverflow(shape->num_elements(), DataTypeSize(tensor.type()));
      if (bytes < 0) return std::optional<bool>();
      const std::optional<double> cost = options_.costs->OfTranspose(transpose->assigned_device(), bytes);
      if (!cost.has_value()) return std::optional<bool>();
      add(cost, &after);
    }
    const bool pays = !after.has_value() || (before.has_value() && *after < *before);
    WEIR_LOG(INFO)
            .With(options_.from, before.has_value() ? absl::StrCat(*before, " us") : "not measured")
            .With(options_.to, after.has_value() ? absl::StrCat(*after, " us") : "not measured")
            .With("chosen", pays ? options_.to : options_.from)
        << "images of a graph";
    return std::optional<bool>(pays);
  }

  std::optional<double> CostOf(const Node& node, const ShapeRefiner& shapes, absl::string_view format) const {
    std::vector<PartialTensorShape> inputs, outputs;
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Edge* edge = node.input_edge(i);
      inputs.push_back(edge == nullptr ? PartialTensorShape() : shapes.shape(*edge->src, edge->src_output));
    }
    for (int i = 0; i < node.num_outputs(); ++i) outputs.push_back(shapes.shape(node, i));
    return options_.costs->OfNode(node, inputs, outputs, format);
  }

  const LayoutOptions options_;
};

}  // namespace

std::unique_ptr<Pass> MakeLayoutPass(LayoutOptions options) { return std::make_unique<LayoutPass>(std::move(options)); }

}  // namespace weir
