#include "worker/executor/framed_execution.h"

#include <atomic>
#include <utility>

#include "graph/graph.h"

namespace weir {
namespace {

using Word = std::atomic_ref<uint64_t>;

// Adds to a count, atomically if `shared`; returns the new value.
uint64_t AddTo(uint64_t& word, uint64_t delta, bool shared) {
  if (!shared) return word += delta;
  return Word(word).fetch_add(delta, std::memory_order_acq_rel) + delta;
}

// Clears a Merge's lowest bit; returns the previous value.
uint64_t ClearLowestBit(uint64_t& word, bool shared) {
  if (shared) return Word(word).fetch_and(~uint64_t{1}, std::memory_order_acq_rel);
  const uint64_t before = word;
  word &= ~uint64_t{1};
  return before;
}

// Makes `input` the value that a Merge forwards; false if another input was first.
bool ClaimMerge(uint64_t& word, uint16_t input, bool shared) {
  const uint64_t claim = (uint64_t{input} + 1) << 48;
  if (!shared) {
    if (word >> 48 != 0) return false;
    word |= claim;
    return true;
  }
  uint64_t seen = Word(word).load(std::memory_order_relaxed);
  while (seen >> 48 == 0) {
    if (Word(word).compare_exchange_weak(seen, seen | claim, std::memory_order_acq_rel)) return true;
  }
  return false;
}

bool IsTrue(const Tensor& tensor) { return *tensor.data<bool>(); }

}  // namespace

void FramedExecution::Begin(ReadyQueue& queue) {
  FrameInstance& frame = NewFrame(0, nullptr, nullptr);
  {
    MutexLock lock(frame.mu);
    root_ = frame.at(0);
  }
  for (size_t i = 0; i < plan_.arguments.size(); ++i) {
    for (const uint32_t slot : plan_.arguments[i].slots) {
      root_->slots[slot].value = args_.arguments[i];
      root_->slots[slot].has_value = true;
    }
  }
  for (const uint32_t root : plan_.roots) queue.Push(root, false, root_);
}

void FramedExecution::Drain(Runner& runner) {
  Ready ready;
  while (Take(runner, &ready)) {
    const PlanNode& node = plan_.nodes[ready.node];
    const bool propagate = RunNode(node, ready, runner);
    if (!runner.completed.empty()) TakeCompletions(runner);
    if (aborted()) return;
    if (propagate) Propagate(node, ready, runner.queue);
  }
}

bool FramedExecution::RunNode(const PlanNode& node, Ready& ready, Runner& runner) {
  Iteration& iteration = *ready.iteration;
  OpOutput* const slots = iteration.slots.get();
  const FrameAndIter frame_iter{iteration.frame->id, iteration.number};
  if (node.is(PlanNode::kNeverDead)) ready.is_dead = false;
  if (ready.is_dead && node.action == NodeAction::kResult) return SetResult(node, slots, true);
  if (ready.is_dead && !node.is(PlanNode::kRunsWhenDead)) {
    if (node.action != NodeAction::kMerge) ReleaseInputs(node, slots);
    return true;
  }
  switch (node.action) {
    case NodeAction::kKernel:
      return RunsNow(node, ready, runner) && Compute(node, ready, slots, frame_iter, ready.is_dead);
    case NodeAction::kAsyncKernel:
      Launch(node, ready, slots, frame_iter, runner);
      return false;
    case NodeAction::kForward:
      return MoveInput(node, 0, slots, &slots[node.first_output]);
    case NodeAction::kResult:
      return SetResult(node, slots, false);
    case NodeAction::kSwitch:
      return RunSwitch(node, slots);
    case NodeAction::kMerge:
      RunMerge(node, iteration);
      return true;
    case NodeAction::kNextIteration:
      return !FailIfCancelled(node);  // a loop may have no kernel
    default:
      return true;  // kNothing, and actions whose value moves to another frame or iteration in Propagate
  }
}

bool FramedExecution::RunSwitch(const PlanNode& node, OpOutput* slots) {
  OpOutput predicate;
  if (!MoveInput(node, 1, slots, &predicate)) return false;
  const Tensor& tensor = predicate.value;
  if (tensor.dtype() != DT_BOOL || tensor.dims() != 0 || !tensor.IsInitialized()) {
    const bool wrong_type = tensor.dtype() != DT_BOOL;
    Fail(node, errors::InvalidArgument("The second input must be a scalar, but it has ",
                                       wrong_type ? absl::StrCat("type ", DataTypeName(tensor.dtype()), " and ") : "",
                                       "shape ", tensor.shape().ToString()));
    return false;
  }
  const bool port = IsTrue(tensor);
  slots[node.first_output + !port].has_value = false;
  return MoveInput(node, 0, slots, &slots[node.first_output + port]);
}

void FramedExecution::RunMerge(const PlanNode& node, Iteration& iteration) {
  OpOutput* const slots = iteration.slots.get();
  const uint64_t word = Word(iteration.pending[node.local]).load(std::memory_order_acquire);
  const int winner = static_cast<int>(word >> 48) - 1;
  const InputSource source = plan_.inputs[node.first_input + winner];
  OpOutput& output = slots[node.first_output];
  if (source < 0) {
    output.value = plan_.constants[~source];
  } else {
    output.value = std::move(slots[source].value);
    output.ref = slots[source].ref;
    output.ref_mutex = slots[source].ref_mutex;
    Clear(slots[source]);
  }
  output.has_value = true;
  if (plan_.slot_is_read[plan_.frames[node.frame].first_slot + node.first_output + 1]) {
    slots[node.first_output + 1].value = Tensor::Scalar<int32_t>(winner);
    slots[node.first_output + 1].has_value = true;
  }
}

void FramedExecution::Propagate(const PlanNode& node, const Ready& ready, ReadyQueue& queue) {
  switch (node.action) {
    case NodeAction::kEnter:
      return PropagateEnter(node, ready, queue);
    case NodeAction::kExit:
      return PropagateExit(node, ready, queue);
    case NodeAction::kNextIteration:
      return PropagateNextIteration(node, ready, queue);
    default:
      break;
  }
  Iteration& iteration = *ready.iteration;
  OpOutput* const outputs = iteration.slots.get() + node.first_output;
  // Receiving a dead tensor makes all successors dead, control edges included.
  constexpr uint16_t kReceives = PlanNode::kMayOutputNothing | PlanNode::kRunsWhenDead;
  const bool is_dead = ready.is_dead || ((node.flags & kReceives) == kReceives && !outputs[0].has_value);
  const int activated = Activate(node, outputs, is_dead, iteration, queue);
  Adjust(iteration, activated - 1, queue);
}

int FramedExecution::Activate(const PlanNode& node, OpOutput* outputs, bool is_dead, Iteration& target,
                              ReadyQueue& queue) {
  const PlanEdge* const edges = plan_.edges.data() + node.first_edge;
  if (!is_dead && node.num_copies > 0) PlaceValues(node, outputs, target);
  const bool values_vary = node.is(PlanNode::kMayOutputNothing);
  int activated = 0;
  for (uint32_t i = 0; i < node.num_edges; ++i) {
    const PlanEdge& edge = edges[i];
    const PlanNode& dst = plan_.nodes[edge.dst];
    bool dead = is_dead || (values_vary && !edge.is_control && !outputs[edge.output].has_value);
    if (!IsActivated(edge, dst, dead, node.action == NodeAction::kEnter, target, &dead)) continue;
    queue.Push(edge.dst, dead, &target);
    ++activated;
  }
  if (!is_dead && node.is(PlanNode::kUnreadOutputs)) DropUnreadOutputs(node, target.slots.get());
  return activated;
}

// All values are in place before the first reader becomes ready, because a reader may modify a value that it alone
// holds.
void FramedExecution::PlaceValues(const PlanNode& node, OpOutput* outputs, Iteration& target) {
  const bool moves = node.action == NodeAction::kEnter || node.action == NodeAction::kExit ||
                     node.action == NodeAction::kNextIteration;
  for (uint32_t i = 0; i < node.num_copies; ++i) {
    const PlanEdge& edge = plan_.edges[node.first_edge + i];
    if (node.action != NodeAction::kNothing && !outputs[edge.output].has_value) continue;  // has no slot of its own
    if (edge.dst_is_merge && !ClaimMerge(target.pending[plan_.nodes[edge.dst].local], edge.input, shared())) continue;
    if (edge.slot == PlanEdge::kNoSlot) continue;
    OpOutput& slot = target.slots[edge.slot];
    if (moves && i + 1 == node.num_copies) {
      slot.value = std::move(outputs[edge.output].value);
      slot.ref = outputs[edge.output].ref;
      slot.ref_mutex = outputs[edge.output].ref_mutex;
      slot.has_value = true;
    } else {
      Copy(outputs[edge.output], slot);
    }
  }
  if (moves) outputs[0].value.DropBuffer();
}

bool FramedExecution::IsActivated(const PlanEdge& edge, const PlanNode& dst, bool is_dead, bool from_enter,
                                  Iteration& target, bool* dead) {
  if (edge.only) return true;
  uint64_t& word = target.pending[dst.local];
  if (edge.dst_is_merge) return IsMergeActivated(edge, dst, is_dead, from_enter, word, dead);
  // One pending input fewer and, in the upper half, one dead input more.
  const uint64_t delta = is_dead ? (uint64_t{1} << 32) - 1 : ~uint64_t{0};
  const uint64_t now = AddTo(word, delta, shared());
  *dead = now >> 32 != 0;
  return static_cast<uint32_t>(now) == 0;
}

bool FramedExecution::IsMergeActivated(const PlanEdge& edge, const PlanNode& dst, bool is_dead, bool from_enter,
                                       uint64_t& word, bool* dead) {
  const auto all_dead = [&dst](uint64_t w) { return ((w >> 32) & 0xffff) == dst.num_inputs; };
  *dead = true;
  if (edge.is_control) {
    const uint64_t now = AddTo(word, ~uint64_t{0} - 1, shared());  // two fewer
    *dead = static_cast<uint32_t>(now) != 0;
    return static_cast<uint32_t>(now) == 0 || (static_cast<uint32_t>(now) == 1 && all_dead(now));
  }
  if (!is_dead) {
    *dead = false;
    if (Word(word).load(std::memory_order_relaxed) >> 48 != uint64_t{edge.input} + 1) return false;
    return static_cast<uint32_t>(ClearLowestBit(word, shared())) == 1;
  }
  const uint64_t now = AddTo(word, uint64_t{1} << 32, shared());
  // A loop in a branch that is not taken ends at its Enter: no other input arrives.
  if (static_cast<uint32_t>(now) != 1 || !(from_enter || all_dead(now))) return false;
  return (ClearLowestBit(word, shared()) & 1) != 0;
}

void FramedExecution::Clean(bool failed) {
  if (root_ == nullptr) return;
  if (!failed) {
    FrameInstance& frame = *root_->frame;
    FreeIteration(*root_);
    FreeFrame(frame);
  }
  root_ = nullptr;
  MutexLock lock(pools_mu_);
  for (size_t i = 0; i < pools_.size(); ++i) {
    Pool& pool = pools_[i];
    if (pool.free_iterations.size() != pool.iterations.size()) {
      pool.free_iterations.clear();
      for (auto& iteration : pool.iterations) {
        for (uint32_t s = 0; s < plan_.frames[i].num_slots; ++s) Clear(iteration->slots[s]);
        pool.free_iterations.push_back(iteration.get());
      }
    }
    if (pool.free_frames.size() != pool.frames.size()) {
      pool.free_frames.clear();
      for (auto& frame : pool.frames) pool.free_frames.push_back(frame.get());
    }
    for (FrameInstance* frame : pool.free_frames) {
      frame->spare = nullptr;
      frame->invariants.clear();
      frame->deferred.clear();
    }
  }
}

}  // namespace weir
