#include "graph/passes/step_commit_sides.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/op/attr_value.h"
#include "graph/function_library.h"
#include "tensorflow/core/framework/function.pb.h"

namespace weir {
namespace {

void Add(const OpRegistration& op, Effects* effects) {
  effects->writes_state |= op.writes_state;
  effects->waits |= op.may_block && !op.writes_state;
}

}  // namespace

absl::StatusOr<Node*> AddCommitNode(absl::string_view op, const std::string& device, std::optional<DataType> type,
                                    Graph* graph) {
  tensorflow::NodeDef def;
  def.set_name(graph->UniqueName(absl::StrCat("_commit/", op)));
  def.set_op(std::string(op));
  def.set_device(device);
  if (type) SetNodeAttr("T", *type, &def);
  ASSIGN_OR_RETURN(Node* const node, graph->AddNode(std::move(def)));
  node->set_assigned_device(device);
  return node;
}

Effects EffectsOf::operator()(const Node& node) {
  Effects effects;
  if (node.registration() != nullptr) Add(*node.registration(), &effects);
  std::vector<std::string> called;
  if (node.registration() == nullptr) called.push_back(node.op());
  for (const auto& [name, attr] : node.def().attr()) {
    if (attr.has_func()) called.push_back(attr.func().name());
    for (const auto& function : attr.list().func()) called.push_back(function.name());
  }
  for (const std::string& function : called) {
    const Effects& inner = OfFunction(function);
    effects.writes_state |= inner.writes_state;
    effects.waits |= inner.waits;
  }
  return effects;
}

const Effects& EffectsOf::OfFunction(const std::string& name) {
  const auto [it, is_new] = functions_.try_emplace(name);
  if (!is_new) return it->second;
  const FunctionLibrary called = graph_.functions().ReachableFrom({name});
  for (const std::string& function : called.Names()) {
    for (const tensorflow::NodeDef& inner : called.Find(function)->node_def()) {
      if (const OpRegistration* const op = graph_.ops().Find(inner.op()); op != nullptr) Add(*op, &it->second);
    }
  }
  return it->second;
}

absl::StatusOr<Sides> Sides::Of(const Graph& graph, EffectsOf* effects) {
  Sides sides(graph);
  ASSIGN_OR_RETURN(sides.flow_, AnalyzeControlFlow(graph));
  for (const Node* node : graph.nodes()) {
    if (!(*effects)(*node).writes_state) continue;
    sides.updates_.push_back(node);
    sides.is_update_[node->id()] = true;
    sides.Put(*node);
  }
  sides.Spread();
  return sides;
}

void Sides::AddAfter(const Node& node) {
  after_.resize(node.id() + 1, false);
  after_[node.id()] = true;
}

bool Sides::IsLastBefore(const Node& node) const {
  if (IsAfter(node) || (node.id() < flow_.frame_of.size() && flow_.OutputFrame(node) != 0)) return false;
  for (const Edge* edge : node.out_edges()) {
    if (!IsAfter(*edge->dst)) return false;
  }
  return true;
}

int Sides::LoopOf(const Node& node) const {
  int frame = flow_.frame_of[node.id()];
  while (frame != 0 && flow_.frames[frame].parent != 0) frame = flow_.frames[frame].parent;
  return frame;
}

void Sides::Put(const Node& node) {
  if (after_[node.id()]) return;
  after_[node.id()] = true;
  open_.push_back(&node);
}

void Sides::Spread() {
  std::vector<std::vector<const Node*>> of_loop(flow_.frames.size());
  for (const Node* node : graph_.nodes()) of_loop[LoopOf(*node)].push_back(node);
  while (!open_.empty()) {
    const Node* const node = open_.back();
    open_.pop_back();
    for (const Edge* edge : node->out_edges()) Put(*edge->dst);
    const int loop = LoopOf(*node);
    if (loop == 0) continue;
    for (const Node* inside : of_loop[loop]) Put(*inside);
    of_loop[loop].clear();
  }
}

}  // namespace weir
