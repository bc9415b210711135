// Entering, iterating and leaving loops.
#include <cstring>
#include <utility>

#include "graph/graph.h"
#include "worker/executor/framed_execution.h"

namespace weir {
namespace {

uint64_t Combine(uint64_t a, uint64_t b) { return a ^ (b + 0x9e3779b97f4a7800 + (a << 10) + (a >> 4)); }

// As in TensorFlow: frame ids are part of rendezvous keys, which a TensorFlow peer must be able to match.
uint64_t ChildId(uint64_t parent, int64_t iteration, uint64_t name_hash) {
  return Combine(parent, Combine(static_cast<uint64_t>(iteration), name_hash));
}

}  // namespace

FramedExecution::FramedExecution(const Plan& plan, NodeCosts& costs)
    : StepExecution(plan, costs), pools_(plan.frames.size()), child_frames_(plan.frames.size()) {
  for (uint32_t i = 0; i < plan.frames.size(); ++i) child_frames_[i].resize(plan.frames[i].num_children);
  for (uint32_t i = 1; i < plan.frames.size(); ++i) child_frames_[plan.frames[i].parent][plan.frames[i].place] = i;
}

FramedExecution::~FramedExecution() = default;

void FramedExecution::PropagateEnter(const PlanNode& node, const Ready& ready, ReadyQueue& queue) {
  Iteration& iteration = *ready.iteration;
  OpOutput value;
  if (!ready.is_dead && !MoveInput(node, 0, iteration.slots.get(), &value)) return;
  FrameInstance* frame;
  {
    MutexLock lock(iteration.frame->mu);
    FrameInstance*& child = iteration.children[node.index];
    if (child == nullptr) {
      child = &NewFrame(child_frames_[node.frame][node.index], iteration.frame, &iteration);
      ++iteration.open_frames;
    }
    frame = child;
  }
  bool frame_is_done;
  {
    MutexLock lock(frame->mu);
    Iteration& first = *frame->at(0);
    if (node.is(PlanNode::kConstantEnter)) {
      AddInvariant(node, ready.node, std::move(value), ready.is_dead, *frame, queue);
    } else {
      first.outstanding += Activate(node, &value, ready.is_dead, first, queue);
    }
    frame_is_done = --frame->pending_enters == 0 && first.outstanding == 0 && EndIterations(*frame, 0, queue);
  }
  if (frame_is_done) EndFrame(*frame, queue);
  Adjust(iteration, -1, queue);
}

void FramedExecution::AddInvariant(const PlanNode& node, uint32_t id, OpOutput value, bool is_dead,
                                   FrameInstance& frame, ReadyQueue& queue) {
  frame.invariants.push_back({id, is_dead, std::move(value)});
  for (int64_t i = 0; i <= frame.last_iteration; ++i) {
    Iteration* iteration = frame.at(i);
    if (iteration == nullptr || iteration->number != i) continue;
    OpOutput copy;
    if (!is_dead) Copy(frame.invariants.back().value, copy);
    iteration->outstanding += Activate(node, &copy, is_dead, *iteration, queue);
  }
}

void FramedExecution::PropagateExit(const PlanNode& node, const Ready& ready, ReadyQueue& queue) {
  Iteration& iteration = *ready.iteration;
  FrameInstance& frame = *iteration.frame;
  if (ready.is_dead) {
    MutexLock lock(frame.mu);
    if (iteration.number == frame.last_iteration) frame.dead_exits.push_back(ready.node);
  } else {
    OpOutput value;
    if (!MoveInput(node, 0, iteration.slots.get(), &value)) return;
    Adjust(*frame.parent_iteration, Activate(node, &value, false, *frame.parent_iteration, queue), queue);
  }
  Adjust(iteration, -1, queue);
}

void FramedExecution::PropagateNextIteration(const PlanNode& node, const Ready& ready, ReadyQueue& queue) {
  Iteration& iteration = *ready.iteration;
  if (ready.is_dead) return Adjust(iteration, -1, queue);
  FrameInstance& frame = *iteration.frame;
  OpOutput value;
  if (!MoveInput(node, 0, iteration.slots.get(), &value)) return;
  bool frame_is_done;
  {
    MutexLock lock(frame.mu);
    const bool is_last = iteration.number == frame.last_iteration;
    if (is_last && frame.live_iterations == frame.plan->parallel_iterations) {
      frame.deferred.push_back({ready.node, false, std::move(value)});
    } else {
      Iteration& next = is_last ? StartIteration(frame, queue) : *frame.at(iteration.number + 1);
      next.outstanding += Activate(node, &value, false, next, queue);
    }
    frame_is_done = AdjustLocked(iteration, -1, queue);
  }
  if (frame_is_done) EndFrame(frame, queue);
}

Iteration& FramedExecution::StartIteration(FrameInstance& frame, ReadyQueue& queue) {
  Iteration& iteration = NewIteration(frame, ++frame.last_iteration);
  frame.at(frame.last_iteration) = &iteration;
  ++frame.live_iterations;
  frame.dead_exits.clear();
  for (const FrameInstance::Held& held : frame.invariants) {
    OpOutput copy;
    if (!held.is_dead) Copy(held.value, copy);
    iteration.outstanding += Activate(plan_.nodes[held.node], &copy, held.is_dead, iteration, queue);
  }
  return iteration;
}

void FramedExecution::Adjust(Iteration& iteration, int delta, ReadyQueue& queue) {
  FrameInstance& frame = *iteration.frame;
  if (delta == 0 || frame.parent == nullptr) return;
  int64_t seen = iteration.outstanding.load(std::memory_order_relaxed);
  if (!shared() && seen + delta != 0) return iteration.outstanding.store(seen + delta, std::memory_order_relaxed);
  while (seen + delta != 0) {
    if (iteration.outstanding.compare_exchange_weak(seen, seen + delta, std::memory_order_acq_rel)) return;
  }
  bool frame_is_done;
  {
    MutexLock lock(frame.mu);
    frame_is_done = AdjustLocked(iteration, delta, queue);
  }
  if (frame_is_done) EndFrame(frame, queue);
}

bool FramedExecution::AdjustLocked(Iteration& iteration, int delta, ReadyQueue& queue) {
  if (iteration.outstanding.fetch_add(delta, std::memory_order_acq_rel) + delta != 0) return false;
  return EndIterations(*iteration.frame, iteration.number, queue);
}

bool FramedExecution::EndIterations(FrameInstance& frame, int64_t number, ReadyQueue& queue) {
  for (; number <= frame.last_iteration; ++number) {
    Iteration* iteration = frame.at(number);
    if (iteration == nullptr || iteration->outstanding != 0 || iteration->open_frames != 0) break;
    if (number == 0 ? frame.pending_enters != 0 : frame.at(number - 1) != nullptr) break;
    frame.at(number) = nullptr;
    FreeIteration(*iteration, &frame.spare);
    --frame.live_iterations;
    if (frame.deferred.empty()) continue;
    Iteration& next = StartIteration(frame, queue);
    for (FrameInstance::Held& held : frame.deferred) {
      next.outstanding += Activate(plan_.nodes[held.node], &held.value, false, next, queue);
    }
    frame.deferred.clear();
  }
  return frame.pending_enters == 0 && frame.live_iterations == 0;
}

void FramedExecution::EndFrame(FrameInstance& ended, ReadyQueue& queue) {
  for (FrameInstance* frame = &ended; frame != nullptr;) {
    Iteration& iteration = *frame->parent_iteration;
    FrameInstance& parent = *frame->parent;
    const uint32_t place = frame->plan->place;
    int activated = 0;
    for (const uint32_t exit : frame->dead_exits) {
      activated += Activate(plan_.nodes[exit], nullptr, true, iteration, queue);
    }
    FreeFrame(*frame);
    MutexLock lock(parent.mu);
    iteration.children[place] = nullptr;
    --iteration.open_frames;
    iteration.outstanding += activated;
    const bool iteration_may_end = parent.parent != nullptr && iteration.outstanding == 0;
    frame = iteration_may_end && EndIterations(parent, iteration.number, queue) ? &parent : nullptr;
  }
}

Iteration& FramedExecution::NewIteration(FrameInstance& frame, int64_t number) {
  Iteration* iteration = std::exchange(frame.spare, nullptr);
  if (iteration == nullptr) {
    MutexLock lock(pools_mu_);
    Pool& pool = pools_[frame.index];
    if (pool.free_iterations.empty()) {
      iteration = pool.iterations.emplace_back(std::make_unique<Iteration>(*frame.plan)).get();
    } else {
      iteration = pool.free_iterations.back();
      pool.free_iterations.pop_back();
    }
  }
  iteration->frame = &frame;
  iteration->number = number;
  iteration->outstanding.store(0, std::memory_order_relaxed);
  iteration->open_frames = 0;
  std::fill(iteration->children.begin(), iteration->children.end(), nullptr);
  if (!iteration->pending.empty()) {
    std::memcpy(iteration->pending.data(), frame.plan->pending.data(), iteration->pending.size() * sizeof(uint64_t));
  }
  return *iteration;
}

void FramedExecution::FreeIteration(Iteration& iteration, Iteration** spare) {
  for (const uint32_t slot : iteration.frame->plan->merge_slots) Clear(iteration.slots[slot]);
  if (spare != nullptr && *spare == nullptr) {
    *spare = &iteration;
    return;
  }
  MutexLock lock(pools_mu_);
  pools_[iteration.frame->index].free_iterations.push_back(&iteration);
}

FrameInstance& FramedExecution::NewFrame(uint32_t index, FrameInstance* parent, Iteration* parent_iteration) {
  FrameInstance* frame = nullptr;
  {
    MutexLock lock(pools_mu_);
    Pool& pool = pools_[index];
    if (pool.free_frames.empty()) {
      frame = pool.frames.emplace_back(std::make_unique<FrameInstance>()).get();
    } else {
      frame = pool.free_frames.back();
      pool.free_frames.pop_back();
    }
  }
  MutexLock lock(frame->mu);
  frame->plan = &plan_.frames[index];
  frame->index = index;
  frame->parent = parent;
  frame->parent_iteration = parent_iteration;
  frame->id = parent == nullptr ? 0 : ChildId(parent->id, parent_iteration->number, frame->plan->name_hash);
  frame->pending_enters = frame->plan->num_enters;
  frame->last_iteration = 0;
  frame->live_iterations = 1;
  frame->ring.assign(frame->plan->parallel_iterations + 1, nullptr);
  frame->dead_exits.clear();
  frame->at(0) = &NewIteration(*frame, 0);
  return *frame;
}

void FramedExecution::FreeFrame(FrameInstance& frame) {
  frame.invariants.clear();
  MutexLock lock(pools_mu_);
  if (frame.spare != nullptr) pools_[frame.index].free_iterations.push_back(std::exchange(frame.spare, nullptr));
  pools_[frame.index].free_frames.push_back(&frame);
}

}  // namespace weir
