#include "worker/device_memory.h"

#include <map>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/gpu/copy_ops.h"
#include "core/gpu/gpu_device.h"
#include "core/kernel/memory_types.h"
#include "core/op/attr_value.h"
#include "graph/graph.h"

namespace weir {
namespace {

class MemoryPlacement {
 public:
  MemoryPlacement(const KernelRegistry& kernels, Device* device, Graph* graph)
      : kernels_(kernels), device_(device), graph_(graph) {}

  // Returns the constants in device memory, by name.
  absl::StatusOr<absl::flat_hash_set<std::string>> Run() {
    for (const Node* node : graph_->nodes()) {
      ASSIGN_OR_RETURN(memory_[node], MemoryOf(*node));
    }
    const std::vector<Node*> nodes = graph_->nodes();
    for (Node* node : nodes) {
      if (node->IsConstant()) RETURN_IF_ERROR(PlaceConstant(node));
    }
    for (Node* node : nodes) {
      if (node->op() == "_Recv") RETURN_IF_ERROR(FetchFromPeer(node));
    }
    for (Node* node : graph_->nodes()) {
      if (memory_.contains(node) && !node->IsConstant()) RETURN_IF_ERROR(Connect(node));
    }
    return std::move(device_constants_);
  }

 private:
  // The GPU at the other end of a transfer within this task, if tensors stay in device memory. int32 tensors are in
  // host memory on both ends.
  GpuDevice* PeerOf(const Node& node) const {
    const bool sends = node.op() == "_Send";
    if (!sends && node.op() != "_Recv") return nullptr;
    const auto& attrs = node.def().attr();
    const DataType type = sends ? node.input_type(0) : node.output_type(0);
    const auto is_client = attrs.find("client_terminated");
    const bool goes_by_host = IsAlwaysOnHost(type) || type == DT_INT32 || type == DT_VARIANT;
    if (goes_by_host || (is_client != attrs.end() && is_client->second.b())) return nullptr;
    return FindGpu(device_)->FindPeer(attrs.at(sends ? "recv_device" : "send_device").s());
  }

  // A function call runs as PartitionedCall, which expects host memory.
  absl::StatusOr<NodeMemory> MemoryOf(const Node& node) const {
    if (node.registration() != nullptr) {
      ASSIGN_OR_RETURN(NodeMemory known, MemoryOfNode(kernels_, node.def(), node.op_def(), device_->type()));
      if (PeerOf(node) != nullptr) {
        for (auto* arguments : {&known.inputs, &known.outputs}) {
          for (MemoryType& memory : *arguments) memory = MemoryType::kDevice;
        }
      }
      if (IsConstantVariant(node)) known.outputs[0] = MemoryType::kHost;
      return known;
    }
    NodeMemory memory;
    memory.inputs.assign(node.num_inputs(), MemoryType::kHost);
    memory.outputs.assign(node.num_outputs(), MemoryType::kHost);
    return memory;
  }

  static bool IsConstantVariant(const Node& node) { return node.IsConstant() && node.output_type(0) == DT_VARIANT; }

  MemoryType Wanted(const Edge& edge) const { return memory_.at(edge.dst).inputs[edge.dst_input]; }

  // Constants used by host objects, and those without readers, stay in host memory. So do variants: each step copies
  // their tensors.
  absl::Status PlaceConstant(Node* node) {
    if (IsConstantVariant(*node)) return Connect(node);
    std::vector<Edge> on_host;
    bool on_device = false;
    for (const Edge* edge : node->out_edges()) {
      if (edge->is_control()) continue;
      if (Wanted(*edge) == MemoryType::kHost) {
        on_host.push_back(*edge);
      } else {
        on_device = true;
      }
    }
    if (!on_device) return absl::OkStatus();
    device_constants_.insert(node->name());
    if (on_host.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(Node * twin, AddBeside(*node, node->def(), "_on_host"));
    for (const Edge* edge : node->in_edges()) graph_->AddControlEdge(edge->src, twin);
    for (const Edge& edge : on_host) RETURN_IF_ERROR(graph_->ReplaceInput(edge.dst, edge.dst_input, twin, 0));
    return absl::OkStatus();
  }

  absl::Status Connect(Node* node) {
    std::map<int, Node*> copies;  // by output
    std::vector<Edge> edges;
    for (const Edge* edge : node->out_edges()) {
      if (!edge->is_control() && Wanted(*edge) != memory_.at(node).outputs[edge->src_output]) edges.push_back(*edge);
    }
    for (const Edge& edge : edges) {
      Node*& copy = copies[edge.src_output];
      if (copy == nullptr) {
        ASSIGN_OR_RETURN(copy, AddCopy(*node, edge.src_output));
        RETURN_IF_ERROR(graph_->AddEdge(node, edge.src_output, copy, 0).status());
      }
      RETURN_IF_ERROR(graph_->ReplaceInput(edge.dst, edge.dst_input, copy, 0));
    }
    return absl::OkStatus();
  }

  // The received tensor is in the peer's memory: readers use one shared copy in this device's memory.
  absl::Status FetchFromPeer(Node* recv) {
    const GpuDevice* const peer = PeerOf(*recv);
    if (peer == nullptr) return absl::OkStatus();
    std::vector<Edge> edges;
    for (const Edge* edge : recv->out_edges()) {
      if (!edge->is_control()) edges.push_back(*edge);
    }
    if (edges.empty()) return absl::OkStatus();
    tensorflow::NodeDef def;
    def.set_op(kCopyFromPeer);
    SetNodeAttr("T", recv->output_type(0), &def);
    SetNodeAttr(kPeerAttr, peer->name(), &def);
    ASSIGN_OR_RETURN(Node * copy, AddBeside(*recv, std::move(def), "_from_peer"));
    memory_[copy] = {.inputs = {MemoryType::kDevice}, .outputs = {MemoryType::kDevice}};
    for (const Edge& edge : edges) RETURN_IF_ERROR(graph_->ReplaceInput(edge.dst, edge.dst_input, copy, 0));
    return graph_->AddEdge(recv, 0, copy, 0).status();
  }

  absl::StatusOr<Node*> AddCopy(const Node& node, int output) {
    const bool to_host = memory_.at(&node).outputs[output] == MemoryType::kDevice;
    tensorflow::NodeDef def;
    def.set_op(to_host ? kCopyToHost : kCopyToDevice);
    SetNodeAttr("T", RemoveRef(node.output_type(output)), &def);
    return AddBeside(node, std::move(def), to_host ? "_to_host" : "_to_device");
  }

  absl::StatusOr<Node*> AddBeside(const Node& node, tensorflow::NodeDef def, absl::string_view suffix) {
    def.set_name(graph_->UniqueName(absl::StrCat(node.name(), "/", suffix)));
    def.set_device(device_->name());
    def.clear_input();
    ASSIGN_OR_RETURN(Node * added, graph_->AddNode(std::move(def)));
    added->set_assigned_device(device_->name());
    return added;
  }

  const KernelRegistry& kernels_;
  Device* const device_;
  Graph* const graph_;
  absl::flat_hash_map<const Node*, NodeMemory> memory_;
  absl::flat_hash_set<std::string> device_constants_;
};

}  // namespace

absl::Status PrepareMemory(const KernelRegistry& kernels, Device* device, Graph* graph, Plan::Options* options) {
  GpuDevice* const gpu = FindGpu(device);
  if (gpu == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(auto on_device, MemoryPlacement(kernels, device, graph).Run());
  options->place_constant = [gpu, on_device = std::move(on_device)](const Node& node,
                                                                    Tensor value) -> absl::StatusOr<Tensor> {
    if (!on_device.contains(node.name())) return value;
    return gpu->ToDevice(value);
  };
  return absl::OkStatus();
}

}  // namespace weir
