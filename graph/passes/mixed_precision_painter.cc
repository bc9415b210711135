#include "graph/passes/mixed_precision_painter.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "core/op/attr_value.h"

namespace weir {
namespace {

using Level = MixedPrecisionSettings::Level;

enum class Direction { kBackward, kForward, kBoth };

// Visits `root`, and each slot reachable from it through slots that may be entered, once if Visit makes May false.
template <typename May, typename Visit>
void Walk(const TypeView& view, int root, Direction direction, May may_enter, Visit visit) {
  std::vector<int> waiting;
  const auto go = [&](int slot) {
    visit(slot);
    if (direction != Direction::kForward) {
      waiting.insert(waiting.end(), view.before(slot).begin(), view.before(slot).end());
    }
    if (direction != Direction::kBackward) {
      waiting.insert(waiting.end(), view.after(slot).begin(), view.after(slot).end());
    }
  };
  go(root);
  while (!waiting.empty()) {
    const int slot = waiting.back();
    waiting.pop_back();
    if (slot != root && may_enter(slot)) go(slot);
  }
}

bool IsOneOf(absl::string_view op, std::initializer_list<absl::string_view> ops) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

bool ReadsFromList(absl::string_view op) {
  return IsOneOf(op, {"TensorListConcat", "TensorListConcatV2", "TensorListGather", "TensorListGetItem",
                      "TensorListPopBack", "TensorListStack"});
}

bool WritesToList(absl::string_view op) {
  return IsOneOf(op,
                 {"TensorListFromTensor", "TensorListPushBack", "TensorListPushBackBatch", "TensorListScatter",
                  "TensorListScatterV2", "TensorListScatterIntoExistingList", "TensorListSetItem", "TensorListSplit"});
}

// Nodes where lists enter or leave that part of the graph that is visible.
bool IsBorder(const Node& node) {
  return node.registration() == nullptr ||
         IsOneOf(node.op(), {"_Arg", "_Retval", "OptionalFromValue", "OptionalGetValue", "PartitionedCall",
                             "StatefulPartitionedCall", "Placeholder", "While", "StatelessWhile", "If", "StatelessIf",
                             "Case", "StatelessCase", "_Recv", "_Send", "_HostRecv", "_HostSend"});
}

bool IsQuantizedType(DataType type) {
  return type == DT_QINT8 || type == DT_QUINT8 || type == DT_QINT16 || type == DT_QUINT16 || type == DT_QINT32;
}

bool CanBeForced(const Node& node) {
  if (node.op() == "Const" || node.op() == "SoftmaxCrossEntropyWithLogits" || node.IsStateful()) return false;
  const auto is_ref = [](DataType type) { return IsRefType(type); };
  return std::none_of(node.input_types().begin(), node.input_types().end(), is_ref) &&
         std::none_of(node.output_types().begin(), node.output_types().end(), is_ref);
}

}  // namespace

MixedPrecisionPainter::MixedPrecisionPainter(Options options, TypeView* view)
    : options_(std::move(options)),
      lists_(*options_.lists),
      view_(*view),
      painted_(view->size()),
      dangerous_(view->size()) {
  for (int i = 0; i < view_.size(); ++i) {
    const Node& node = *view_.slot(i).node;
    if (static_cast<int>(may_change_.size()) <= node.id()) may_change_.resize(node.id() + 1);
    may_change_[node.id()] = options_.may_change(node);
  }
}

std::vector<bool> MixedPrecisionPainter::Paint() {
  FindTensorLists();
  if (!PaintAllowList()) return painted_;
  SpreadDanger();
  MatchTensorLists();
  PaintBetween();
  PaintBehind();
  PaintThroughClear();
  TakeBackQuantized();
  MatchTensorLists();
  MatchLoops();
  PaintCasts();
  return painted_;
}

bool MixedPrecisionPainter::IsConvertible(int i) const {
  const TypeView::Slot& slot = view_.slot(i);
  return MayChange(i) && slot.type == DT_FLOAT && !slot.attr.empty() && options_.has_kernel(slot);
}

int MixedPrecisionPainter::ListElement(const Node& node) const {
  if (!absl::StrContains(node.op(), "TensorList")) return -1;
  for (int i : view_.SlotsOf(node)) {
    const TypeView::Slot& slot = view_.slot(i);
    if (!slot.attr.empty() && slot.index < 0 && slot.type == DT_FLOAT) return i;
  }
  return -1;
}

// Ops that share a list must use the same element type: follows handles in both directions. Values pushed to a list
// flow to its readers as if there were an edge.
void MixedPrecisionPainter::FindTensorLists() {
  std::vector<bool> seen(view_.size());
  std::vector<std::pair<int, int>> joined;
  for (int root = 0; root < view_.size(); ++root) {
    const TypeView::Slot& slot = view_.slot(root);
    if (seen[root] || !slot.attr.empty() || slot.type != DT_VARIANT || ListElement(*slot.node) < 0) continue;
    std::vector<int> elements;
    bool unsafe = false;
    Walk(
        view_, root, Direction::kBoth, [&](int i) { return !seen[i]; },
        [&](int i) {
          seen[i] = true;
          const Node& node = *view_.slot(i).node;
          if (const int element = ListElement(node); element >= 0) {
            if (std::find(elements.begin(), elements.end(), element) == elements.end()) elements.push_back(element);
            unsafe = unsafe || !may_change_[node.id()];
          } else {
            unsafe = unsafe || IsBorder(node);
          }
        });
    if (unsafe) dangerous_[elements[0]] = true;
    for (int reader : elements) {
      if (!ReadsFromList(view_.slot(reader).node->op())) continue;
      absl::flat_hash_set<int> behind;
      for (int start : view_.SlotsOf(*view_.slot(reader).node)) {
        if (!view_.slot(start).attr.empty() || view_.slot(start).type != DT_VARIANT) continue;
        Walk(
            view_, start, Direction::kBackward, [&](int i) { return MayChange(i) && !behind.contains(i); },
            [&](int i) {
              behind.insert(i);
              const Node& node = *view_.slot(i).node;
              if (WritesToList(node.op()) && ListElement(node) >= 0) joined.emplace_back(ListElement(node), reader);
            });
      }
    }
    tensor_lists_.push_back(std::move(elements));
  }
  for (const auto& [writer, reader] : joined) view_.Join(writer, reader);
}

bool MixedPrecisionPainter::PaintAllowList() {
  bool any = false;
  for (int i = 0; i < view_.size(); ++i) {
    const bool forced = options_.level == Level::kUnsafeForceAll && CanBeForced(*view_.slot(i).node);
    if ((!On(lists_.allow, i) && !forced) || !IsConvertible(i)) continue;
    painted_[i] = any = true;
  }
  return any;
}

void MixedPrecisionPainter::SpreadDanger() {
  if (options_.level == Level::kUnsafeForceAll) return;
  // Only later computations matter: clear ops are unsafe on a path to other ops, not at the end of one.
  Marks computed_with(view_.size());
  for (int root = 0; root < view_.size(); ++root) {
    if (!On(lists_.deny, root) && !On(lists_.infer, root)) continue;
    Walk(
        view_, root, Direction::kBackward, [&](int i) { return !computed_with[i] && On(lists_.clear, i); },
        [&](int i) { computed_with[i] = true; });
  }
  for (int root = 0; root < view_.size(); ++root) {
    if (dangerous_[root] || !On(lists_.deny, root)) continue;
    Walk(
        view_, root, Direction::kForward, [&](int i) { return !dangerous_[i] && computed_with[i]; },
        [&](int i) { dangerous_[i] = true; });
  }
}

void MixedPrecisionPainter::PaintBetween() {
  const auto is_root = [&](int i) { return painted_[i] && On(lists_.allow, i); };
  Marks downstream(view_.size()), upstream(view_.size());
  for (int root = 0; root < view_.size(); ++root) {
    if (!is_root(root)) continue;
    Walk(
        view_, root, Direction::kForward,
        [&](int i) {
          return !downstream[i] && !dangerous_[i] && (On(lists_.clear, i) || On(lists_.infer, i)) && IsConvertible(i);
        },
        [&](int i) { downstream[i] = true; });
  }
  for (int root = 0; root < view_.size(); ++root) {
    if (!is_root(root) || upstream[root]) continue;
    Walk(
        view_, root, Direction::kBackward, [&](int i) { return !upstream[i] && downstream[i]; },
        [&](int i) { upstream[i] = painted_[i] = true; });
  }
}

// Consumers of a painted node's result that can compute in the new type read it without a cast.
void MixedPrecisionPainter::PaintBehind() {
  for (int i = 0; i < view_.size(); ++i) {
    if (dangerous_[i] || painted_[i] || !On(lists_.infer, i) || !IsConvertible(i)) continue;
    const std::vector<int>& before = view_.before(i);
    const auto any = [&](const Marks& marks) {
      return std::any_of(before.begin(), before.end(), [&](int source) { return marks[source]; });
    };
    if (any(painted_) && !any(dangerous_)) painted_[i] = true;
  }
}

void MixedPrecisionPainter::PaintThroughClear() {
  Marks reached(view_.size());
  for (int root = 0; root < view_.size(); ++root) {
    if (!painted_[root] || reached[root]) continue;
    Walk(
        view_, root, Direction::kBoth,
        [&](int i) {
          return !painted_[i] && !dangerous_[i] && On(lists_.clear, i) && IsConvertible(i) &&
                 !ReadsReferenceVariable(*view_.slot(i).node);
        },
        [&](int i) { reached[i] = painted_[i] = true; });
  }
}

// The value of a reference variable keeps the variable's type for all readers.
bool MixedPrecisionPainter::ReadsReferenceVariable(const Node& node) const {
  if (node.op() != "Identity" && node.op() != "Enter") return false;
  const Edge* edge = node.input_edge(0);
  if (edge == nullptr) return false;
  if (node.op() == "Identity") return IsOneOf(edge->src->op(), {"Variable", "VariableV2"});
  return ReadsReferenceVariable(*edge->src);
}

void MixedPrecisionPainter::TakeBackQuantized() {
  for (int i = 0; i < view_.size(); ++i) {
    if (!painted_[i] || !On(lists_.allow, i)) continue;
    const std::vector<int>& slots = view_.SlotsOf(*view_.slot(i).node);
    painted_[i] = std::none_of(slots.begin(), slots.end(), [&](int s) { return IsQuantizedType(view_.slot(s).type); });
  }
}

void MixedPrecisionPainter::MatchTensorLists() {
  for (const std::vector<int>& elements : tensor_lists_) {
    const auto any = [&](const Marks& marks) {
      return std::any_of(elements.begin(), elements.end(), [&](int i) { return marks[i]; });
    };
    if (any(dangerous_)) {
      for (int i : elements) {
        dangerous_[i] = true;
        painted_[i] = false;
      }
    } else if (any(painted_)) {
      for (int i : elements) painted_[i] = true;
    }
  }
}

// No cast can be inserted between the end of an iteration and the start of the next.
void MixedPrecisionPainter::MatchLoops() {
  for (int i = 0; i < view_.size(); ++i) {
    const Node& node = *view_.slot(i).node;
    if (!node.IsNextIteration()) continue;
    const std::vector<int>& merges = view_.after(i);
    const bool all = IsConvertible(i) && std::all_of(merges.begin(), merges.end(), [&](int m) { return painted_[m]; });
    painted_[i] = all && !merges.empty();
    if (all) continue;
    for (int merge : merges) painted_[merge] = false;
  }
}

// A Cast to float that is read only by painted nodes casts to their type directly.
void MixedPrecisionPainter::PaintCasts() {
  for (int i = 0; i < view_.size(); ++i) {
    const TypeView::Slot& slot = view_.slot(i);
    if (slot.node->op() != "Cast" || slot.attr != "DstT" || !IsConvertible(i)) continue;
    const std::vector<int>& readers = view_.after(i);
    if (!readers.empty() && std::all_of(readers.begin(), readers.end(), [&](int r) { return painted_[r]; })) {
      painted_[i] = true;
    }
  }
}

}  // namespace weir
