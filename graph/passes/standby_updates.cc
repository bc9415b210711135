#include "graph/passes/standby_updates.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/device/device_name.h"
#include "core/op/attr_value.h"
#include "graph/passes/step_commit_sides.h"
#include "graph/state_key.h"

namespace weir {
namespace {

bool MovesParts(const Node& node) {
  static const auto* const kOps =
      new absl::flat_hash_set<std::string>({"EmbeddingTableOwn", "EmbeddingTableReceive", "EmbeddingTableAdopt",
                                            "EmbeddingMapSet", "EmbeddingMapSeal", "EmbeddingMapCommit"});
  return kOps->contains(node.op());
}

bool CarriesHandle(DataType type) { return type == DT_RESOURCE || IsRefType(type); }

// Whether it passes a handle on unchanged.
bool PassesHandle(const Node& node) {
  return node.op() == "Identity" || node.op() == "RefIdentity" || node.IsSwitch() || node.IsEnter();
}

bool IsHandle(const Node& node) {
  return node.num_outputs() == 1 && CarriesHandle(node.output_type(0)) && FindAttr(node.def(), "container") != nullptr;
}

// Computes the same on any task that has the same variables.
bool ComputesTheSame(const Node& node) {
  const OpRegistration* const op = node.registration();
  if (op == nullptr || op->writes_state || op->may_block || node.IsSend() || node.IsRecv()) return false;
  if (!node.IsStateful()) return true;
  for (const DataType type : node.input_types()) {
    if (CarriesHandle(type)) return true;
  }
  return false;
}

// The node that gives access to what an update changes; nullptr: it is not known before the graph runs.
const Node* HandleOf(const Node& update) {
  for (int i = 0; i < update.num_inputs(); ++i) {
    if (!CarriesHandle(update.input_type(i)) || update.input_edge(i) == nullptr) continue;
    const Node* source = update.input_edge(i)->src;
    while (source != nullptr && !IsHandle(*source)) {
      // A reference that an update returns is that of its first input.
      const bool passes = PassesHandle(*source) || (source->num_inputs() > 0 && IsRefType(source->input_type(0)));
      source = passes && source->input_edge(0) != nullptr ? source->input_edge(0)->src : nullptr;
    }
    return source;
  }
  return nullptr;
}

// The copies on one standby.
class StandbyCopies {
 public:
  StandbyCopies(const StandbyUpdatesOptions& options, const Sides& sides, std::string standby, Graph* graph)
      : options_(options), sides_(sides), standby_(std::move(standby)), graph_(graph) {}

  absl::Status Add() {
    for (const Node* update : sides_.updates()) {
      has_own_updates_ = has_own_updates_ || options_.task(*update) == standby_;
    }
    for (Node* node : graph_->nodes()) {
      const bool is_copy = FindAttr(node->def(), kStandbyForAttr) != nullptr;
      if (is_copy || (!sides_.IsUpdate(*node) && !MovesParts(*node)) || !Keeps(*node)) continue;
      ASSIGN_OR_RETURN(const bool copied, IsCopied(*node));
      if (copied) Put(node);
    }
    for (size_t i = 0; i < originals_.size(); ++i) {
      for (const Edge* edge : originals_[i]->in_edges()) {
        ASSIGN_OR_RETURN(const bool copied, NeedsCopy(*edge));
        if (copied) Put(edge->src);
      }
    }
    for (Node* node : originals_) {
      ASSIGN_OR_RETURN(copies_[node], NewNode(*node));
    }
    for (const Node* node : originals_) RETURN_IF_ERROR(Connect(*node));
    return absl::OkStatus();
  }

 private:
  // Whether the standby keeps copies of the node's task's state.
  bool Keeps(const Node& node) {
    const auto [it, is_new] = keeps_.try_emplace(options_.task(node), false);
    if (is_new) {
      const std::vector<std::string> standbys = options_.standbys_of(it->first);
      it->second = std::find(standbys.begin(), standbys.end(), standby_) != standbys.end();
    }
    return it->second;
  }

  // False for an update of something else than state that standbys keep.
  absl::StatusOr<bool> IsCopied(const Node& update) const {
    if (!ChangesReplicatedState(update)) {
      return CannotCopy(update, "it updates variables within a function");
    }
    const Node* const handle = HandleOf(update);
    if (handle == nullptr) return CannotCopy(update, "its variable is not known before the step runs");
    return ReplicatedKeyOf(*handle).has_value();
  }

  absl::Status CannotCopy(const Node& node, const std::string& why) const {
    return errors::Unimplemented("Node '", node.name(), "' (", node.op(), ") on ", node.assigned_device(),
                                 " cannot be repeated on ", standby_, ", a standby: ", why,
                                 ". Remove the standby with weir standby --remove to run this step");
  }

  void Put(Node* node) {
    if (copies_.try_emplace(node, nullptr).second) originals_.push_back(node);
  }

  // Whether the copy of the edge's target gets it from a copy of its source.
  absl::StatusOr<bool> NeedsCopy(const Edge& edge) {
    const Node& source = *edge.src;
    if (!edge.is_control() && CarriesHandle(edge.dst->input_type(edge.dst_input))) {
      if (ReplicatedKeyOf(source) || PassesHandle(source) || sides_.IsUpdate(source)) return true;
      return CannotCopy(*edge.dst, absl::StrCat("its variable is an output of '", source.name(), "' (", source.op(),
                                                "), which is no variable"));
    }
    if (!sides_.IsAfter(source)) return false;
    // It stands for the updates that it waits for.
    if (edge.is_control() && source.op() == "NoOp" && sides_.IsOutsideOfLoops(source)) return true;
    if (Keeps(source) && sides_.IsUpdate(source)) return IsCopied(source);
    if (Keeps(source) && ComputesTheSame(source)) return true;
    // A control edge orders the copy by what the other task does; a value could be lost with that after the decision.
    if (Keeps(source) && !edge.is_control()) {
      return CannotCopy(*edge.dst,
                        absl::StrCat("'", source.name(), "' (", source.op(), "), which follows an update on ",
                                     options_.task(source), ", would have to give the same value there"));
    }
    if (sides_.IsValueOfLoop(source)) {
      return CannotCopy(*edge.dst, absl::StrCat("it is in a loop with '", source.name(), "' (", source.op(), ") on ",
                                                options_.task(source)));
    }
    return false;
  }

  absl::StatusOr<Node*> NewNode(const Node& node) {
    ASSIGN_OR_RETURN(const DeviceName task, DeviceName::Parse(standby_));
    ASSIGN_OR_RETURN(const DeviceName device, DeviceName::ParseFull(node.assigned_device()));
    const std::string there = device.OverriddenBy(task).ToString();
    tensorflow::NodeDef def = node.def();
    def.clear_input();
    def.mutable_attr()->erase("_class");
    def.mutable_attr()->erase(kStandbysAttr);
    if (const std::optional<StateKey> key = ReplicatedKeyOf(node)) {
      SetNodeAttr("container", ContainerOn(*key, standby_), &def);
      SetNodeAttr("shared_name", key->name, &def);
    }
    if (ReplicatedKeyOf(node) || ChangesReplicatedState(node)) SetNodeAttr(kStandbyForAttr, options_.task(node), &def);
    const std::string suffix = absl::StrCat("/_standby/", *task.job, "_", *task.task);
    if (const tensorflow::AttrValue* const frame = FindAttr(def, "frame_name")) {
      SetNodeAttr("frame_name", absl::StrCat(frame->s(), suffix), &def);  // a loop of its own
    }
    def.set_name(graph_->UniqueName(absl::StrCat(node.name(), suffix)));
    def.set_device(there);
    ASSIGN_OR_RETURN(Node* const copy, graph_->AddNode(std::move(def)));
    copy->set_assigned_device(there);
    return copy;
  }

  absl::Status Connect(const Node& original) {
    Node* const copy = copies_.at(&original);
    const std::vector<Edge*> in_edges = original.in_edges();
    for (const Edge* edge : in_edges) {
      ASSIGN_OR_RETURN(const bool copied, NeedsCopy(*edge));
      Node* const source = copied ? copies_.at(edge->src) : edge->src;
      if (edge->is_control()) {
        graph_->AddControlEdge(source, copy);
      } else {
        RETURN_IF_ERROR(graph_->AddEdge(source, edge->src_output, copy, edge->dst_input).status());
      }
    }
    if (MovesParts(original)) Order(graph_->node(original.id()), copy);
    if (sides_.IsUpdate(original) && has_own_updates_) FollowOn(original, copy);
    return absl::OkStatus();
  }

  // Updates of the standby's own variables that follow the original follow the copy as well: it may use a value that
  // they change in place.
  void FollowOn(const Node& original, Node* copy) {
    for (const Edge* edge : original.out_edges()) {
      const bool is_order = edge->is_control() && edge->dst->op() == "NoOp";
      if (copies_.contains(edge->dst) && !is_order) continue;
      if (is_order || options_.task(*edge->dst) == standby_) graph_->AddControlEdge(copy, edge->dst);
    }
  }

  // Moves of parts have no commit. They come to their end by a change of the map, after which other steps use the
  // parts: it waits for the standbys. A change that the map rejects has no effect on its standby.
  void Order(Node* original, Node* copy) {
    const std::vector<Edge*> out_edges = original->out_edges();
    for (const Edge* edge : out_edges) {
      if (edge->dst != copy && FindAttr(edge->dst->def(), kStandbyForAttr) == nullptr) {
        graph_->AddControlEdge(copy, edge->dst);
      }
    }
    if (original->op() == "EmbeddingMapCommit") graph_->AddControlEdge(original, copy);
  }

  const StandbyUpdatesOptions& options_;
  const Sides& sides_;
  const std::string standby_;
  Graph* const graph_;
  absl::flat_hash_map<std::string, bool> keeps_;  // by task
  bool has_own_updates_ = false;
  std::vector<Node*> originals_;
  absl::flat_hash_map<const Node*, Node*> copies_;
};

}  // namespace

bool ChangesReplicatedState(const Node& node) {
  return MovesParts(node) || (node.registration() != nullptr && node.registration()->writes_state);
}

absl::Status AddStandbyUpdates(const StandbyUpdatesOptions& options, Graph* graph) {
  EffectsOf effects_of(*graph);
  ASSIGN_OR_RETURN(const Sides sides, Sides::Of(*graph, &effects_of));
  absl::btree_set<std::string> standbys;
  absl::flat_hash_map<const Node*, std::vector<std::string>> standbys_of;
  for (const Node* node : graph->nodes()) {
    if (!sides.IsUpdate(*node) && !MovesParts(*node)) continue;
    std::vector<std::string> of_task = options.standbys_of(options.task(*node));
    standbys.insert(of_task.begin(), of_task.end());
    if (!of_task.empty()) standbys_of[node] = std::move(of_task);
  }
  for (const std::string& standby : standbys) RETURN_IF_ERROR(StandbyCopies(options, sides, standby, graph).Add());
  for (const auto& [update, of_task] : standbys_of) {
    SetNodeAttr(kStandbysAttr, of_task, graph->node(update->id())->mutable_def());
  }
  return absl::OkStatus();
}

}  // namespace weir
