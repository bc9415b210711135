// The state of loops while a step runs.
#pragma once

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "core/kernel/op_kernel.h"
#include "core/mutex.h"
#include "worker/executor/plan.h"

namespace weir {

struct FrameInstance;

// One iteration of one frame: its slots and pending counts. It is done when no node in it is ready or running, no frame
// entered from it is open, no Enter can still arrive, and the previous iteration is done.
struct Iteration {
  explicit Iteration(const PlanFrame& plan)
      : slots(new OpOutput[plan.num_slots]), pending(plan.pending.size()), children(plan.num_children, nullptr) {}

  FrameInstance* frame = nullptr;
  int64_t number = 0;
  const std::unique_ptr<OpOutput[]> slots;
  // Accessed atomically. Low 32 bits: pending inputs. Bits 32 to 47: dead inputs. A Merge's lowest bit is set until a
  // live input arrives; the bits above it count pending control inputs, and bits 48 to 63 are the number of the first
  // live input plus one.
  std::vector<uint64_t> pending;
  // Ready and running nodes. Reaches 0 only under the frame's mutex.
  std::atomic<int64_t> outstanding{0};
  int open_frames = 0;                   // guarded by the frame's mutex
  std::vector<FrameInstance*> children;  // by PlanFrame::place; guarded by the frame's mutex
};

// One execution of a loop, as entered from one iteration of the parent frame.
struct FrameInstance {
  const PlanFrame* plan = nullptr;
  uint32_t index = 0;
  FrameInstance* parent = nullptr;
  Iteration* parent_iteration = nullptr;
  uint64_t id = 0;  // equal in every partition

  struct Held {
    uint32_t node = 0;
    bool is_dead = false;
    OpOutput value;
  };
  Mutex mu;
  int pending_enters GUARDED_BY(mu) = 0;
  int64_t last_iteration GUARDED_BY(mu) = 0;
  int live_iterations GUARDED_BY(mu) = 0;
  std::vector<Iteration*> ring GUARDED_BY(mu);  // live iterations, by number modulo the size
  Iteration* spare GUARDED_BY(mu) = nullptr;    // reusable iteration of the same plan frame
  std::vector<Held> invariants GUARDED_BY(mu);  // constant Enters, for every iteration
  std::vector<Held> deferred GUARDED_BY(mu);    // NextIterations that wait for an iteration to end
  std::vector<uint32_t> dead_exits GUARDED_BY(mu);

  Iteration*& at(int64_t number) REQUIRES(mu) { return ring[number % ring.size()]; }
};

}  // namespace weir
