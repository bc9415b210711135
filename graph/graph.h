// A dataflow graph: nodes that compute, edges that carry tensors or order.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/op_registry.h"
#include "core/status.h"
#include "core/types.h"
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
  int id_ = -1;  // its place in the graph, and in its nodes' lists: so that removing it takes constant time
  int out_position_ = -1;
  int in_position_ = -1;
};

// Owned by its graph; valid until removed. `def().input` is not kept up to date: edges are what counts, and export
// writes the inputs anew.
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

  // Data edges in unspecified order, then control edges likewise.
  const std::vector<Edge*>& in_edges() const { return in_edges_; }
  const std::vector<Edge*>& out_edges() const { return out_edges_; }
  // The data edge into input i; nullptr while it is not connected.
  const Edge* input_edge(int i) const { return inputs_[i]; }

  // What the client asked for (possibly partial), and the full name that placement chose.
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

// Invariants: names are unique; every edge's slots exist and its types agree; each data input has at most one edge.
// Not thread-safe. Op definitions come from `ops`, which outlives the graph, or from the graph's function library.
class Graph {
 public:
  explicit Graph(const OpRegistry* ops);
  ~Graph();
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;

  // Checks `def` against its op (attributes, defaults filled in) and adds it without edges. InvalidArgument, naming the
  // node, where it does not fit; NotFound for an unknown op; AlreadyExists for a name that is taken.
  absl::StatusOr<Node*> AddNode(tensorflow::NodeDef def);
  void RemoveNode(Node* node);                                  // with its edges
  absl::Status RenameNode(Node* node, absl::string_view name);  // AlreadyExists where the name is taken
  // Gives `node` another op, whose outputs have the types of the old ones: name, id and who uses it stay, its inputs
  // are to be connected anew. InvalidArgument or NotFound, and no change, where `def` does not fit its op or those
  // types.
  absl::Status ChangeOp(Node* node, tensorflow::NodeDef def);
  // The ids of the nodes that got another op, in that order.
  const std::vector<int>& changed_ops() const { return changed_ops_; }
  // InvalidArgument for slots that do not exist, types that differ, or an input that is connected already.
  absl::StatusOr<Edge*> AddEdge(Node* src, int src_output, Node* dst, int dst_input);
  // At most one between two nodes: nullptr when it was there.
  Edge* AddControlEdge(Node* src, Node* dst);
  void RemoveEdge(const Edge* edge);
  // Moves a data input to another source.
  absl::Status ReplaceInput(Node* dst, int dst_input, Node* src, int src_output);

  Node* FindNode(absl::string_view name) const;
  std::string UniqueName(absl::string_view prefix) const;
  // Live nodes in order of their ids (the order of creation).
  std::vector<Node*> nodes() const;
  int num_nodes() const { return num_nodes_; }
  // Ids are below this.
  int num_node_ids() const { return static_cast<int>(nodes_.size()); }
  Node* node(int id) const { return nodes_[id].get(); }  // nullptr when removed

  const OpRegistry& ops() const { return *ops_; }
  const FunctionLibrary& functions() const { return *functions_; }
  FunctionLibrary* mutable_functions() { return functions_.get(); }
  const tensorflow::VersionDef& versions() const { return versions_; }
  tensorflow::VersionDef* mutable_versions() { return &versions_; }

  // Keeps the ids.
  std::unique_ptr<Graph> Clone() const;
  // Nodes in order of ids; inputs are written from the edges; assigned devices, where set, become the device.
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
  mutable absl::flat_hash_map<std::string, int> name_suffixes_;  // where UniqueName goes on counting
  int num_nodes_ = 0;
};

}  // namespace weir
