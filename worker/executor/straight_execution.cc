#include "worker/executor/straight_execution.h"

#include <atomic>
#include <cstring>

namespace weir {

StraightExecution::StraightExecution(const Plan& plan, NodeCosts& costs)
    : StepExecution(plan, costs), slots_(new OpOutput[plan.frames[0].num_slots]), pending_(plan.pending.size()) {}

void StraightExecution::Begin(ReadyQueue& queue) {
  if (!pending_.empty()) std::memcpy(pending_.data(), plan_.pending.data(), pending_.size() * sizeof(pending_[0]));
  for (size_t i = 0; i < plan_.arguments.size(); ++i) {
    for (const uint32_t slot : plan_.arguments[i].slots) {
      slots_[slot].value = args_.arguments[i];
      slots_[slot].has_value = true;
    }
  }
  queue.reserve(plan_.roots.size());
  for (const uint32_t root : plan_.roots) queue.Push(root);
}

void StraightExecution::Drain(Runner& runner) {
  OpOutput* const slots = slots_.get();
  const PlanNode* const nodes = plan_.nodes.data();
  Ready ready;
  while (Take(runner, &ready)) {
    // Follows a chain of nodes without queueing each one.
    for (uint32_t id = ready.node; id != kNone;) {
      const PlanNode& node = nodes[id];
      switch (node.action) {
        case NodeAction::kKernel:
          ready.node = id;
          id = kNone;
          if (!RunsNow(node, ready, runner)) continue;
          if (!Compute(node, ready, slots, {}, false)) return;
          if (!runner.completed.empty()) TakeCompletions(runner);
          break;
        case NodeAction::kAsyncKernel:
          ready.node = id;
          id = kNone;
          Launch(node, ready, slots, {}, runner);
          if (!runner.completed.empty()) TakeCompletions(runner);
          continue;
        case NodeAction::kForward:
          if (!MoveInput(node, 0, slots, &slots[node.first_output])) return;
          break;
        case NodeAction::kResult:
          if (!SetResult(node, slots, false)) return;
          break;
        default:
          break;
      }
      id = PropagateToNext(node, runner.queue);
      ready.was_put_aside = false;
    }
  }
}

void StraightExecution::Propagate(const PlanNode& node, const Ready&, ReadyQueue& queue) {
  const uint32_t next = PropagateToNext(node, queue);
  if (next != kNone) queue.Push(next);
}

inline uint32_t StraightExecution::PropagateToNext(const PlanNode& node, ReadyQueue& queue) {
  OpOutput* const slots = slots_.get();
  if (node.num_copies > 0) {
    const PlanCopy* const copies = plan_.copies.data() + node.first_copy;
    for (uint32_t i = 0; i < node.num_copies; ++i) {
      Copy(slots[node.first_output + copies[i].output], slots[copies[i].slot]);
    }
  }
  if (node.is(PlanNode::kUnreadOutputs)) DropUnreadOutputs(node, slots);
  const uint32_t* const successors = plan_.successors.data() + node.first_edge;
  uint32_t next = kNone;
  for (uint32_t i = 0; i < node.num_edges; ++i) {
    const uint32_t id = successors[i] >> 1;
    if (successors[i] & 1) {
      if (!shared()) {
        if (--pending_[id] != 0) continue;
      } else if (std::atomic_ref<uint32_t>(pending_[id]).fetch_sub(1, std::memory_order_acq_rel) != 1) {
        continue;
      }
    }
    if (next == kNone) {
      next = id;
    } else {
      queue.Push(id);
    }
  }
  return next;
}

void StraightExecution::Clean(bool failed) {
  if (!failed) return;
  for (uint32_t i = 0; i < plan_.frames[0].num_slots; ++i) Clear(slots_[i]);
}

}  // namespace weir
