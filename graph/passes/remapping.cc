// Fuses MatMul or Conv2D, BiasAdd and an activation into one node, whose kernel applies bias and activation while the
// product is in the cache. Named after TensorFlow's pass; uses its ops, so that its workers can run them.
#include <array>
#include <optional>

#include "core/device/device_name.h"
#include "core/op/attr_value.h"
#include "graph/passes/pass_manager.h"

namespace weir {
namespace {

constexpr std::array<absl::string_view, 6> kActivations = {"Relu", "Relu6", "LeakyRelu", "Elu", "Tanh", "Sigmoid"};
constexpr std::array<absl::string_view, 9> kConvolutionAttrs = {
    "T",         "strides",          "padding",       "explicit_paddings", "data_format",
    "dilations", "use_cudnn_on_gpu", "num_host_args", "filter_format"};
constexpr std::array<absl::string_view, 3> kMatMulAttrs = {"T", "transpose_a", "transpose_b"};

struct Match {
  Node* product;
  Node* bias_add;
  Node* activation;  // nullptr if there is none
  Node* last() const { return activation != nullptr ? activation : bias_add; }
};

bool IsActivation(const Node& node, bool after_matmul) {
  for (size_t i = 0; i < kActivations.size(); ++i) {
    // TensorFlow's convolution supports activations up to Elu.
    if (node.op() == kActivations[i]) return after_matmul || i < 4;
  }
  return false;
}

// Whether there is a kernel for the node's device. GPUs have none for convolutions.
bool HasFusedKernel(const Node& node) {
  if (node.assigned_device().empty()) return true;
  const absl::StatusOr<DeviceName> device = DeviceName::Parse(node.assigned_device());
  return device.ok() && (device->type == "CPU" || (device->type == "GPU" && node.op() == "MatMul"));
}

std::string DataFormat(const Node& node) {
  std::string format = "NHWC";
  if (!GetNodeAttr(node.def(), "data_format", &format).ok()) return "NHWC";
  return format;
}

class RemappingPass : public Pass {
 public:
  absl::string_view name() const override { return "remapping"; }

  absl::Status Run(const PassContext& context, Graph* graph, int* changes) const override {
    const absl::flat_hash_set<std::string> kept = context.KeptNodes(), fed = context.FedNodes();
    std::vector<Match> matches;
    for (Node* node : graph->nodes()) {
      if (const std::optional<Match> match = Find(node, kept, fed); match.has_value()) matches.push_back(*match);
    }
    for (const Match& match : matches) RETURN_IF_ERROR(Fuse(match, graph));
    *changes += static_cast<int>(matches.size());
    return absl::OkStatus();
  }

 private:
  // The only reader of `node` if the two can be fused: no other node waits for `node`, its value is neither fed nor
  // fetched, and both are on one device.
  static Node* OnlyReader(const Node& node, const absl::flat_hash_set<std::string>& kept,
                          const absl::flat_hash_set<std::string>& fed) {
    if (node.out_edges().size() != 1 || kept.contains(node.name()) || fed.contains(node.name())) return nullptr;
    const Edge& edge = *node.out_edges()[0];
    if (edge.is_control() || edge.dst_input != 0 || fed.contains(edge.dst->name())) return nullptr;
    const bool together = edge.dst->assigned_device() == node.assigned_device() &&
                          edge.dst->requested_device() == node.requested_device();
    return together && edge.dst->output_types() == node.output_types() ? edge.dst : nullptr;
  }

  // Only float: with 16 bits a fused node would round less often than the graph specifies.
  static std::optional<Match> Find(Node* product, const absl::flat_hash_set<std::string>& kept,
                                   const absl::flat_hash_set<std::string>& fed) {
    const bool is_matmul = product->op() == "MatMul";
    if ((!is_matmul && product->op() != "Conv2D") || product->output_type(0) != DT_FLOAT || !HasFusedKernel(*product)) {
      return std::nullopt;
    }
    Match match{product, OnlyReader(*product, kept, fed), nullptr};
    if (match.bias_add == nullptr || match.bias_add->op() != "BiasAdd") return std::nullopt;
    const std::string wanted = is_matmul ? "NHWC" : DataFormat(*product);
    if (DataFormat(*match.bias_add) != wanted) return std::nullopt;
    Node* const next = OnlyReader(*match.bias_add, kept, fed);
    if (next != nullptr && IsActivation(*next, is_matmul)) match.activation = next;
    return match;
  }

  // The new node has the last one's name and readers, and the control inputs of all.
  static absl::Status Fuse(const Match& match, Graph* graph) {
    Node* const last = match.last();
    const bool is_matmul = match.product->op() == "MatMul";
    tensorflow::NodeDef def;
    def.set_name(graph->UniqueName(absl::StrCat(last->name(), "/fused")));
    def.set_op(is_matmul ? "_FusedMatMul" : "_FusedConv2D");
    def.set_device(last->requested_device());
    const absl::Span<const absl::string_view> attrs =
        is_matmul ? absl::MakeConstSpan(kMatMulAttrs) : absl::MakeConstSpan(kConvolutionAttrs);
    for (absl::string_view attr : attrs) {
      if (const tensorflow::AttrValue* value = FindAttr(match.product->def(), attr); value != nullptr) {
        SetNodeAttr(attr, *value, &def);
      }
    }
    std::vector<std::string> fused = {"BiasAdd"};
    if (match.activation != nullptr) fused.push_back(match.activation->op());
    SetNodeAttr("fused_ops", fused, &def);
    SetNodeAttr("num_args", int64_t{1}, &def);
    if (!is_matmul) SetNodeAttr("TArgs", DataTypeVector{DT_FLOAT}, &def);
    if (last->op() == "LeakyRelu") {
      if (const tensorflow::AttrValue* alpha = FindAttr(last->def(), "alpha"); alpha != nullptr) {
        SetNodeAttr("leakyrelu_alpha", *alpha, &def);
      }
    }
    ASSIGN_OR_RETURN(Node * node, graph->AddNode(std::move(def)));
    node->set_assigned_device(last->assigned_device());

    const Edge* const bias = match.bias_add->input_edge(1);
    RETURN_IF_ERROR(graph->AddEdge(bias->src, bias->src_output, node, 2).status());
    for (int i = 0; i < 2; ++i) {
      const Edge* const edge = match.product->input_edge(i);
      RETURN_IF_ERROR(graph->AddEdge(edge->src, edge->src_output, node, i).status());
    }
    for (const Node* old : {match.product, match.bias_add, match.activation}) {
      if (old == nullptr) continue;
      for (const Edge* edge : old->in_edges()) {
        if (edge->is_control()) graph->AddControlEdge(edge->src, node);
      }
    }
    const std::vector<Edge*> readers = last->out_edges();
    for (const Edge* edge : readers) {
      if (edge->is_control()) {
        graph->AddControlEdge(node, edge->dst);
      } else {
        RETURN_IF_ERROR(graph->ReplaceInput(edge->dst, edge->dst_input, node, 0));
      }
    }
    const std::string name = last->name();
    for (Node* old : {match.activation, match.bias_add, match.product}) {
      if (old != nullptr) graph->RemoveNode(old);
    }
    return graph->RenameNode(node, name);
  }
};

}  // namespace

std::unique_ptr<Pass> MakeRemappingPass() { return std::make_unique<RemappingPass>(); }

}  // namespace weir
