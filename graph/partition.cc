#include "graph/partition.h"

#include <memory>

#include "absl/container/flat_hash_map.h"
#include "core/device/device.h"
#include "core/op/attr_value.h"
#include "graph/control_flow.h"
#include "graph/control_loop.h"
#include "graph/function_library.h"

namespace weir {
namespace {

// One location's partition under construction: nodes by name; inputs are written as they are resolved.
class Partitioner {
 public:
  Partitioner(const PartitionOptions& options, Graph* graph) : options_(options), graph_(graph) {}

  absl::StatusOr<absl::btree_map<std::string, tensorflow::GraphDef>> Run() {
    ASSIGN_OR_RETURN(info_, AnalyzeControlFlow(*graph_));
    RETURN_IF_ERROR(CheckPlaced());
    if (SpansLocations()) {
      ASSIGN_OR_RETURN(loops_, ControlLoops::Add(options_.location, graph_, &info_));
    }
    for (Node* node : graph_->nodes()) RETURN_IF_ERROR(Emit(*node));
    for (auto& [location, part] : parts_) Finish(&part);
    return std::move(parts_);
  }

 private:
  struct CutKey {
    int src_id;
    int src_output;
    std::string dst_device;
    std::string wire;
    friend bool operator==(const CutKey&, const CutKey&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const CutKey& k) {
      return H::combine(std::move(h), k.src_id, k.src_output, k.dst_device, k.wire);
    }
  };

  absl::Status CheckPlaced() const {
    for (const Node* node : graph_->nodes()) {
      if (node->assigned_device().empty()) {
        return errors::Internal("Node '", node->name(), "' (", node->op(), ") was not placed before partitioning");
      }
    }
    return absl::OkStatus();
  }

  bool SpansLocations() const {
    std::string first;
    for (const Node* node : graph_->nodes()) {
      std::string location = options_.location(*node);
      if (first.empty()) first = location;
      if (location != first) return true;
    }
    return false;
  }

  tensorflow::GraphDef* PartOf(const Node& node) { return &parts_[options_.location(node)]; }

  absl::Status Emit(const Node& node) {
    tensorflow::NodeDef def = node.def();
    def.set_device(node.assigned_device());
    def.clear_input();
    std::vector<std::string> data(node.num_inputs());
    std::vector<std::string> control;
    const std::string location = options_.location(node);
    for (const Edge* edge : node.in_edges()) {
      std::string source;
      if (options_.location(*edge->src) == location) {
        source = edge->is_control() ? absl::StrCat("^", edge->src->name()) : OutputName(*edge->src, edge->src_output);
      } else {
        ASSIGN_OR_RETURN(source, Cut(*edge, node));
      }
      if (edge->is_control()) {
        control.push_back(std::move(source));
      } else {
        data[edge->dst_input] = std::move(source);
      }
    }
    for (std::string& input : data) {
      if (input.empty()) return errors::InvalidArgument("Node '", node.name(), "' has an input that is not connected");
      def.add_input(std::move(input));
    }
    for (std::string& input : control) def.add_input(std::move(input));
    *PartOf(node)->add_node() = std::move(def);
    return absl::OkStatus();
  }

  static std::string OutputName(const Node& node, int output) {
    return output == 0 ? node.name() : absl::StrCat(node.name(), ":", output);
  }

  // The name of the input on the receiving side that replaces `edge`; creates the Send/Recv pair on first use.
  absl::StatusOr<std::string> Cut(const Edge& edge, const Node& dst) {
    const Node& src = *edge.src;
    const DataType type = edge.is_control() ? DT_FLOAT : src.output_type(edge.src_output);
    if (IsRefType(type) && IsRefType(dst.input_type(edge.dst_input))) {
      return errors::InvalidArgument("Node '", dst.name(), "' on ", dst.assigned_device(),
                                     " takes a reference to the output of '", src.name(), "' on ",
                                     src.assigned_device(), "; a reference cannot leave its device");
    }
    WireOptions wire;
    if (!edge.is_control() && IsPlainType(RemoveRef(type))) {
      ASSIGN_OR_RETURN(wire, WireOf(src, dst));
    }
    const std::string wire_text = wire.ToString();
    auto [it, inserted] = received_.try_emplace(CutKey{src.id(), edge.src_output, dst.assigned_device(), wire_text});
    if (inserted && wire.any()) {
      ASSIGN_OR_RETURN(it->second, MakeEncodedPair(edge, dst, RemoveRef(type), wire_text));
    } else if (inserted) {
      it->second = MakePair(edge, dst, RemoveRef(type));
    }
    return edge.is_control() ? absl::StrCat("^", it->second) : it->second;
  }

  // The wire format of the tensor.
  absl::StatusOr<WireOptions> WireOf(const Node& src, const Node& dst) const {
    if (options_.knows_wire == nullptr || !options_.knows_wire(options_.location(src)) ||
        !options_.knows_wire(options_.location(dst))) {
      return WireOptions();
    }
    for (const Node* node : {&src, &dst}) {
      if (FindAttr(node->def(), kWireAttr) == nullptr) continue;
      std::string text;
      RETURN_IF_ERROR(GetNodeAttr(node->def(), kWireAttr, &text));
      const absl::StatusOr<WireOptions> wire = WireOptions::Parse(text);
      if (wire.ok()) return wire;
      return Annotate(wire.status(), absl::StrCat("Attribute ", kWireAttr, " of node '", node->name(), "'"));
    }
    return options_.wire;
  }

  std::string MakePair(const Edge& edge, const Node& dst, DataType type) {
    const Node& src = *edge.src;
    std::string source = OutputName(src, edge.src_output);
    if (edge.is_control()) source = AddControlToken(src);
    const std::string received = AddTransfer(src, src.assigned_device(), source, dst, dst.assigned_device(), type);
    return edge.is_control() ? AddControlReceiver(received, src, dst) : received;
  }

  // Encodes beside `src` and decodes beside `dst`, on CPUs of their tasks.
  absl::StatusOr<std::string> MakeEncodedPair(const Edge& edge, const Node& dst, DataType type,
                                              const std::string& wire) {
    const Node& src = *edge.src;
    ASSIGN_OR_RETURN(const std::string src_cpu, CpuBeside(src));
    ASSIGN_OR_RETURN(const std::string dst_cpu, CpuBeside(dst));
    tensorflow::NodeDef* encode = PartOf(src)->add_node();
    encode->set_name(graph_->UniqueName(absl::StrCat(src.name(), "/_encode_", next_edge_)));
    encode->set_op("_WireEncode");
    encode->set_device(src_cpu);
    encode->add_input(OutputName(src, edge.src_output));
    SetNodeAttr("T", type, encode);
    SetNodeAttr("wire", wire, encode);
    const std::string encoded = encode->name();
    const std::string received = AddTransfer(src, src_cpu, encoded, dst, dst_cpu, DT_UINT8);

    tensorflow::NodeDef* decode = PartOf(dst)->add_node();
    decode->set_name(graph_->UniqueName(absl::StrCat(src.name(), "/_decode_", next_edge_)));
    decode->set_op("_WireDecode");
    decode->set_device(dst_cpu);
    decode->add_input(received);
    SetNodeAttr("T", type, decode);
    return decode->name();
  }

  static absl::StatusOr<std::string> CpuBeside(const Node& node) {
    ASSIGN_OR_RETURN(DeviceName device, DeviceName::ParseFull(node.assigned_device()));
    if (device.type == kDeviceCpu) return node.assigned_device();
    device.type = kDeviceCpu;
    device.id = 0;
    return device.ToString();
  }

  // Adds a _Send/_Recv pair for `source` between two devices; returns the _Recv's name.
  std::string AddTransfer(const Node& src, const std::string& src_device, const std::string& source, const Node& dst,
                          const std::string& dst_device, DataType type) {
    const std::string tensor_name = absl::StrCat("edge_", next_edge_++, "_", src.name());
    tensorflow::NodeDef* send = PartOf(src)->add_node();
    send->set_name(graph_->UniqueName(absl::StrCat(src.name(), "/_send_", next_edge_)));
    send->set_op("_Send");
    send->set_device(src_device);
    send->add_input(source);
    SetNodeAttr("T", type, send);
    SetTransferAttrs(tensor_name, src_device, dst_device, send);

    tensorflow::NodeDef* recv = PartOf(dst)->add_node();
    recv->set_name(graph_->UniqueName(absl::StrCat(src.name(), "/_recv_", next_edge_)));
    recv->set_op("_Recv");
    recv->set_device(dst_device);
    SetNodeAttr("tensor_type", type, recv);
    SetTransferAttrs(tensor_name, src_device, dst_device, recv);
    if (Node* trigger = loops_.Trigger(info_.InputFrame(dst), dst.assigned_device())) {
      recv->add_input(absl::StrCat("^", trigger->name()));
    }
    return recv->name();
  }

  // In TensorFlow a _Recv of a dead tensor is not dead itself, so its control successors would run. An op that reads
  // the tensor is dead.
  std::string AddControlReceiver(const std::string& token, const Node& src, const Node& dst) {
    tensorflow::NodeDef* receiver = PartOf(dst)->add_node();
    receiver->set_name(graph_->UniqueName(absl::StrCat(src.name(), "/_done_", next_edge_)));
    receiver->set_op("Identity");
    receiver->set_device(dst.assigned_device());
    receiver->add_input(token);
    SetNodeAttr("T", DT_FLOAT, receiver);
    return receiver->name();
  }

  // An empty tensor that is produced when `src` has run.
  std::string AddControlToken(const Node& src) {
    tensorflow::NodeDef* token = PartOf(src)->add_node();
    token->set_name(graph_->UniqueName(absl::StrCat(src.name(), "/_token_", next_edge_)));
    token->set_op("Const");
    token->set_device(src.assigned_device());
    token->add_input(absl::StrCat("^", src.name()));
    SetNodeAttr("dtype", DT_FLOAT, token);
    SetNodeAttr("value", Tensor(DT_FLOAT, TensorShape({0})), token);
    return token->name();
  }

  void SetTransferAttrs(const std::string& tensor_name, const std::string& src_device, const std::string& dst_device,
                        tensorflow::NodeDef* def) const {
    SetNodeAttr("tensor_name", tensor_name, def);
    SetNodeAttr("send_device", src_device, def);
    SetNodeAttr("send_device_incarnation", static_cast<int64_t>(options_.incarnation(src_device)), def);
    SetNodeAttr("recv_device", dst_device, def);
    SetNodeAttr("client_terminated", false, def);
  }

  void Finish(tensorflow::GraphDef* part) const {
    *part->mutable_versions() = graph_->versions();
    *part->mutable_library() = graph_->functions().ToProto();
  }

  const PartitionOptions& options_;
  Graph* const graph_;
  ControlFlowInfo info_;
  ControlLoops loops_;
  absl::btree_map<std::string, tensorflow::GraphDef> parts_;
  absl::flat_hash_map<CutKey, std::string> received_;
  int next_edge_ = 0;
};

}  // namespace

absl::StatusOr<absl::btree_map<std::string, tensorflow::GraphDef>> PartitionGraph(const PartitionOptions& options,
                                                                                  Graph* graph) {
  return Partitioner(options, graph).Run();
}

}  // namespace weir
