#include "worker/capture/extract_segment.h"

#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "core/gpu/graph_ops.h"
#include "core/kernel/kernel_registry.h"
#include "core/kernel/memory_types.h"
#include "core/op/attr_value.h"

namespace weir {
namespace {

class Extraction {
 public:
  Extraction(const KernelRegistry& kernels, const std::vector<Node*>& segment, Graph* graph)
      : kernels_(kernels), segment_(segment), graph_(graph), body_(std::make_unique<Graph>(&graph->ops())) {
    *body_->mutable_versions() = graph->versions();
  }

  absl::StatusOr<ExtractedSegment> Run() {
    for (const Node* node : segment_) RETURN_IF_ERROR(Copy(*node).status());
    for (const Node* node : segment_) RETURN_IF_ERROR(TakeInputs(*node));
    for (const Node* node : segment_) RETURN_IF_ERROR(GiveOutputs(*node));
    RETURN_IF_ERROR(Replace());
    result_.body = std::move(body_);
    return std::move(result_);
  }

 private:
  using Output = std::pair<Node*, int>;
  using Input = std::pair<Node*, int>;

  absl::StatusOr<Node*> Copy(const Node& node) {
    tensorflow::NodeDef def = node.def();
    def.clear_input();
    ASSIGN_OR_RETURN(Node * copy, body_->AddNode(std::move(def)));
    copy->set_assigned_device(node.assigned_device());
    return copies_[&node] = copy;
  }

  absl::StatusOr<Node*> AddTerminal(const char* op, int index, DataType type) {
    tensorflow::NodeDef def;
    def.set_name(body_->UniqueName(op));
    def.set_op(op);
    SetNodeAttr("T", type, &def);
    SetNodeAttr("index", int64_t{index}, &def);
    return body_->AddNode(std::move(def));
  }

  absl::StatusOr<bool> ReadsHostMemory(const Edge& edge) const {
    ASSIGN_OR_RETURN(const NodeMemory memory, MemoryOfNode(kernels_, edge.dst->def(), edge.dst->op_def(), kDeviceGpu));
    return memory.inputs[edge.dst_input] == MemoryType::kHost;
  }

  absl::Status TakeInputs(const Node& node) {
    Node* const copy = copies_.at(&node);
    for (const Edge* edge : node.in_edges()) {
      const auto inside = copies_.find(edge->src);
      if (edge->is_control()) {
        if (inside != copies_.end()) {
          body_->AddControlEdge(inside->second, copy);
        } else {
          controls_before_.push_back(edge->src);
        }
        continue;
      }
      if (inside != copies_.end()) {
        RETURN_IF_ERROR(body_->AddEdge(inside->second, edge->src_output, copy, edge->dst_input).status());
      } else if (edge->src->IsConstant() && edge->src->in_edges().empty()) {
        ASSIGN_OR_RETURN(Node * constant, Copy(*edge->src));
        RETURN_IF_ERROR(body_->AddEdge(constant, 0, copy, edge->dst_input).status());
      } else {
        RETURN_IF_ERROR(TakeArgument(*edge, copy));
      }
    }
    return absl::OkStatus();
  }

  absl::Status TakeArgument(const Edge& edge, Node* copy) {
    Node*& argument = arguments_[{edge.src, edge.src_output}];
    if (argument == nullptr) {
      const DataType type = RemoveRef(edge.src->output_type(edge.src_output));
      ASSIGN_OR_RETURN(argument, AddTerminal("_Arg", static_cast<int>(inputs_.size()), type));
      inputs_.push_back({edge.src, edge.src_output});
      input_types_.push_back(type);
      ASSIGN_OR_RETURN(const bool on_host, ReadsHostMemory(edge));
      result_.input_is_on_host.push_back(on_host);
    }
    return body_->AddEdge(argument, 0, copy, edge.dst_input).status();
  }

  absl::Status GiveOutputs(const Node& node) {
    std::map<int, int> results;  // by output
    for (const Edge* edge : node.out_edges()) {
      if (copies_.contains(edge->dst)) continue;
      if (edge->is_control()) {
        controls_after_.push_back(edge->dst);
        continue;
      }
      const auto [place, is_new] = results.try_emplace(edge->src_output, static_cast<int>(output_types_.size()));
      readers_.push_back({{edge->dst, edge->dst_input}, place->second});
      if (!is_new) continue;
      output_types_.push_back(node.output_type(edge->src_output));
      ASSIGN_OR_RETURN(const bool on_host, LiesInHostMemory(*edge));
      result_.output_is_on_host.push_back(on_host);
      ASSIGN_OR_RETURN(Node * result, AddTerminal("_Retval", place->second, output_types_.back()));
      RETURN_IF_ERROR(body_->AddEdge(copies_.at(&node), edge->src_output, result, 0).status());
    }
    return absl::OkStatus();
  }

  // A constant is placed where its readers, all in a segment, need it.
  absl::StatusOr<bool> LiesInHostMemory(const Edge& edge) const {
    if (edge.src->IsConstant()) return ReadsHostMemory(edge);
    ASSIGN_OR_RETURN(const NodeMemory memory, MemoryOfNode(kernels_, edge.src->def(), edge.src->op_def(), kDeviceGpu));
    return memory.outputs[edge.src_output] == MemoryType::kHost;
  }

  absl::Status Replace() {
    tensorflow::NodeDef def;
    def.set_op(kGpuGraphOp);
    def.set_name(graph_->UniqueName(absl::StrCat(segment_.back()->name(), "/_gpu_graph")));
    def.set_device(segment_.back()->requested_device());
    SetNodeAttr("Tin", input_types_, &def);
    SetNodeAttr("Tout", output_types_, &def);
    ASSIGN_OR_RETURN(Node * node, graph_->AddNode(std::move(def)));
    node->set_assigned_device(segment_.back()->assigned_device());
    for (size_t i = 0; i < inputs_.size(); ++i) {
      RETURN_IF_ERROR(graph_->AddEdge(inputs_[i].first, inputs_[i].second, node, static_cast<int>(i)).status());
    }
    for (Node* source : controls_before_) graph_->AddControlEdge(source, node);
    for (Node* reader : controls_after_) graph_->AddControlEdge(node, reader);
    for (const auto& [reader, result] : readers_) {
      RETURN_IF_ERROR(graph_->ReplaceInput(reader.first, reader.second, node, result));
    }
    for (Node* inside : segment_) graph_->RemoveNode(inside);
    result_.node = node;
    return absl::OkStatus();
  }

  const KernelRegistry& kernels_;
  const std::vector<Node*>& segment_;
  Graph* const graph_;
  std::unique_ptr<Graph> body_;
  ExtractedSegment result_;
  absl::flat_hash_map<const Node*, Node*> copies_;
  std::map<Output, Node*> arguments_;
  std::vector<Output> inputs_;
  DataTypeVector input_types_, output_types_;
  std::vector<std::pair<Input, int>> readers_;  // with the output that they read
  std::vector<Node*> controls_before_, controls_after_;
};

}  // namespace

absl::StatusOr<ExtractedSegment> ExtractSegment(const KernelRegistry& kernels, const std::vector<Node*>& segment,
                                                Graph* graph) {
  return Extraction(kernels, segment, graph).Run();
}

}  // namespace weir
