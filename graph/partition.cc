#include "graph/partition.h"

#include <memory>

#include "absl/container/flat_hash_map.h"
#include "core/attr_value.h"
#include "graph/control_flow.h"
#include "graph/control_loop.h"
#include "graph/function_library.h"

namespace weir {
namespace {

// One location's share while it is built: a node map by name, inputs written as they are decided.
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
    friend bool operator==(const CutKey&, const CutKey&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const CutKey& k) {
      return H::combine(std::move(h), k.src_id, k.src_output, k.dst_device);
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

  // The input name that stands for `edge` on the receiving side; makes the pair on first need.
  absl::StatusOr<std::string> Cut(const Edge& edge, const Node& dst) {
    const Node& src = *edge.src;
    const DataType type = edge.is_control() ? DT_FLOAT : src.output_type(edge.src_output);
    if (IsRefType(type) && IsRefType(dst.input_type(edge.dst_input))) {
      return errors::InvalidArgument("Node '", dst.name(), "' on ", dst.assigned_device(),
                                     " takes a reference to the output of '", src.name(), "' on ",
                                     src.assigned_device(), "; a reference cannot leave its device");
    }
    auto [it, inserted] = received_.try_emplace(CutKey{src.id(), edge.src_output, dst.assigned_device()});
    if (inserted) it->second = MakePair(edge, dst, RemoveRef(type));
    return edge.is_control() ? absl::StrCat("^", it->second) : it->second;
  }

  std::string MakePair(const Edge& edge, const Node& dst, DataType type) {
    const Node& src = *edge.src;
    const std::string tensor_name = absl::StrCat("edge_", next_edge_++, "_", src.name());
    std::string source = OutputName(src, edge.src_output);
    if (edge.is_control()) source = AddControlToken(src);

    tensorflow::NodeDef* send = PartOf(src)->add_node();
    send->set_name(graph_->UniqueName(absl::StrCat(src.name(), "/_send_", next_edge_)));
    send->set_op("_Send");
    send->set_device(src.assigned_device());
    send->add_input(source);
    SetNodeAttr("T", type, send);
    SetTransferAttrs(tensor_name, src, dst, send);

    tensorflow::NodeDef* recv = PartOf(dst)->add_node();
    recv->set_name(graph_->UniqueName(absl::StrCat(src.name(), "/_recv_", next_edge_)));
    recv->set_op("_Recv");
    recv->set_device(dst.assigned_device());
    SetNodeAttr("tensor_type", type, recv);
    SetTransferAttrs(tensor_name, src, dst, recv);
    if (Node* trigger = loops_.Trigger(info_.InputFrame(dst), dst.assigned_device())) {
      recv->add_input(absl::StrCat("^", trigger->name()));
    }
    return edge.is_control() ? AddControlReceiver(*recv, src, dst) : recv->name();
  }

  // In TensorFlow a _Recv that got a dead tensor is not dead itself: who waited for it would run. An op that reads the
  // tensor is dead.
  std::string AddControlReceiver(const tensorflow::NodeDef& recv, const Node& src, const Node& dst) {
    const std::string& token = recv.name();
    tensorflow::NodeDef* receiver = PartOf(dst)->add_node();
    receiver->set_name(graph_->UniqueName(absl::StrCat(src.name(), "/_done_", next_edge_)));
    receiver->set_op("Identity");
    receiver->set_device(dst.assigned_device());
    receiver->add_input(token);
    SetNodeAttr("T", DT_FLOAT, receiver);
    return receiver->name();
  }

  // An empty tensor that is made when `src` has run.
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

  void SetTransferAttrs(const std::string& tensor_name, const Node& src, const Node& dst,
                        tensorflow::NodeDef* def) const {
    SetNodeAttr("tensor_name", tensor_name, def);
    SetNodeAttr("send_device", src.assigned_device(), def);
    SetNodeAttr("send_device_incarnation", static_cast<int64_t>(options_.incarnation(src.assigned_device())), def);
    SetNodeAttr("recv_device", dst.assigned_device(), def);
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
