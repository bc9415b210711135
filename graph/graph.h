// A dataflow graph: nodes, and edges for data and control.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/op/op_registry.h"
#include "core/status.h"
#include "core/tensor/types.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace weir {

class FunctionLibrary;
class Graph;
class Node;

// From output `src_output` of `src` to input `dst_input` of `dst`; a control edge has kControlSlot on both sides.
struct Edge {
  static constexpr int kControlSlot = -1;
  Node* src = nullptr;
  Node* dst = nullptr;
  int src_output = kControlSlot;
  int dst_input = kControlSlot;
  bool is_control() const { return src_output == kControlSlot; }

 private:
  friend class Graph;
  int id_ = -1;  // indices in the graph's and nodes' lists, for removal in constant time
  int out_position_ = -1;
  int in_position_ = -1;
};

// Owned by its graph; valid until removed. `def().input` is not kept up to date: edges are authoritative, and export
// writes the inputs from them.
class Node {
 public:
  int id() const { return id_; }
  const std::string& name() const { return def_.name(); }
  const std::string& op() const { return def_.op(); }
  const tensorflow::NodeDef& def() const { return def_; }
  tensorflow::NodeDef* mutable_def() { return &def_; }
  const tensorflow::OpDef& op_def() const { return *op_def_; }
  // nullptr for a call of a library function by name.
  const OpRegistration* registration() const { return registration_; }

  int num_inputs() const { return static_cast<int>(input_types_.size()); }
  int num_outputs() const { return static_cast<int>(output_types_.size()); }
  DataType input_type(int i) const { return input_types_[i]; }
  DataType output_type(int i) const { return output_types_[i]; }
  const DataTypeVector& input_types() const { return input_types_; }
  const DataTypeVector& output_types() const { return output_types_; }

  // Data edges in unspecified order, then control edges in unspecified order.
  const std::vector<Edge*>& in_edges() const { return in_edges_; }
  const std::vector<Edge*>& out_edges() const { return out_edges_; }
  // The data edge into input i; nullptr if it is not connected.
  const Edge* input_edge(int i) const { return inputs_[i]; }

  // The client's constraint (possibly partial), and the full name that placement chose.
  const std::string& requested_device() const { return def_.device(); }
  const std::string& assigned_device() const { return assigned_device_; }
  void set_assigned_device(absl::string_view device) { assigned_device_ = std::string(device); }

  bool IsSwitch() const { return op() == "Switch" || op() == "RefSwitch" || op() == "_SwitchN"; }
  bool IsMerge() const { return op() == "Merge" || op() == "RefMerge"; }
  bool IsEnter() const { return op() == "Enter" || op() == "RefEnter"; }
  bool IsExit() const { return op() == "Exit" || op() == "RefExit"; }
  bool IsNextIteration() const { return op() == "NextIteration" || op() == "RefNextIteration"; }
  bool IsLoopCond() const { return op() == "LoopCond"; }
  bool IsControlFlow() const {
    return IsSwitch() || IsMerge() || IsEnter() || IsExit() || IsNextIteration() || IsLoopCond();
  }
  bool IsSend() const { return op() == "_Send" || op() == "_HostSend"; }
  bool IsRecv() const { return op() == "_Recv" || op() == "_HostRecv"; }
  bool IsConstant() const { return op() == "Const"; }
  bool IsStateful() const;

 private:
  friend class Graph;
  int id_ = -1;
  tensorflow::NodeDef def_;
  const tensorflow::OpDef* op_def_ = nullptr;
  const OpRegistration* registration_ = nullptr;
  DataTypeVector input_types_, output_types_;
  std::vector<Edge*> inputs_;  // by slot
  std::vector<Edge*> in_edges_, out_edges_;
  int num_data_in_ = 0, num_data_out_ = 0;
  std::string assigned_device_;
};

// Invariants: names are unique; every edge's slots exist and its types match; each data input has at most one edge. Not
// thread-safe. Op definitions come from `ops`, which outlives the graph, or from the graph's function library.
class Graph {
 public:
  explicit Graph(const OpRegistry* ops);
  ~Graph();
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;

  // Checks `def` against its op (attributes, defaults filled in) and adds it without edges. InvalidArgument, naming the
  // node, if it does not match; NotFound for an unknown op; AlreadyExists for a name in use.
  absl::StatusOr<Node*> AddNode(tensorflow::NodeDef def);
  void RemoveNode(Node* node);                                  // with its edges
  absl::Status RenameNode(Node* node, absl::string_view name);  // AlreadyExists if the name is in use
  // Changes the op of `node` to one with the same output types. Name, id and consumers stay; inputs must be connected
  // again. InvalidArgument or NotFound, without a change, if `def` does not match its op or those types.
  absl::Status ChangeOp(Node* node, tensorflow::NodeDef def);
  // The ids of nodes whose op was changed, in that order.
  const std::vector<int>& changed_ops() const { return changed_ops_; }
  // InvalidArgument for slots that do not exist, types that differ, or an input that is already connected.
  absl::StatusOr<Edge*> AddEdge(Node* src, int src_output, Node* dst, int dst_input);
  // At most one between two nodes: nullptr if it exists already.
  Edge* AddControlEdge(Node* src, Node* dst);
  void RemoveEdge(const Edge* edge);
  // Connects a data input to another source.
  absl::Status ReplaceInput(Node* dst, int dst_input, Node* src, int src_output);

  Node* FindNode(absl::string_view name) const;
  std::string UniqueName(absl::string_view prefix) const;
  // Live nodes in order of their ids (creation order).
  std::vector<Node*> nodes() const;
  int num_nodes() const { return num_nodes_; }
  // An upper bound of ids.
  int num_node_ids() const { return static_cast<int>(nodes_.size()); }
  Node* node(int id) const { return nodes_[id].get(); }  // nullptr if removed

  const OpRegistry& ops() const { return *ops_; }
  const FunctionLibrary& functions() const { return *functions_; }
  FunctionLibrary* mutable_functions() { return functions_.get(); }
  const tensorflow::VersionDef& versions() const { return versions_; }
  tensorflow::VersionDef* mutable_versions() { return &versions_; }

  // Preserves ids.
  std::unique_ptr<Graph> Clone() const;
  // Nodes in id order; inputs are written from the edges; assigned devices, if set, become the device.
  tensorflow::GraphDef ToGraphDef() const;

 private:
  absl::Status CheckEdge(const Node* src, int src_output, const Node* dst, int dst_input) const;
  Edge* NewEdge(Node* src, int src_output, Node* dst, int dst_input);
  // `def` with its defaults, as a node without id and edges.
  absl::StatusOr<std::unique_ptr<Node>> MakeNode(tensorflow::NodeDef def) const;

  const OpRegistry* ops_;
  std::unique_ptr<FunctionLibrary> functions_;
  tensorflow::VersionDef versions_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<Edge>> edges_;
  std::vector<int> free_edges_;
  std::vector<int> changed_ops_;
  absl::flat_hash_map<std::string, Node*> by_name_;
  mutable absl::flat_hash_map<std::string, int> name_suffixes_;  // next suffix to try in UniqueName
  int num_nodes_ = 0;
};

}  // namespace weir
