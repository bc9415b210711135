// Executes plans with control flow.
#pragma once

#include <memory>
#include <vector>

#include "core/mutex.h"
#include "worker/executor/frame_state.h"
#include "worker/executor/step_execution.h"

namespace weir {

// Follows TensorFlow's rules: a node with a dead input is dead and its outputs are dead, except that Merge is dead only
// if all its inputs are; NextIteration stops deadness; an Exit is dead if its frame ends without a value for it.
//
// Locks: a frame's mutex guards its structure; values and pending counts need no lock. A parent's mutex is taken before
// its child's, and only to create the child; pools_mu_ is taken last.
class FramedExecution final : public StepExecution {
 public:
  FramedExecution(const Plan& plan, NodeCosts& costs);
  ~FramedExecution() override;

 protected:
  void Begin(ReadyQueue& queue) override;
  void Drain(Runner& runner) override;
  void Propagate(const PlanNode& node, const Ready& ready, ReadyQueue& queue) override;
  OpOutput* Slots(const Ready& ready) override { return ready.iteration->slots.get(); }
  void Clean(bool failed) override;

 private:
  // True if the node is done and has to be propagated.
  bool RunNode(const PlanNode& node, Ready& ready, Runner& runner);
  bool RunSwitch(const PlanNode& node, OpOutput* slots);
  void RunMerge(const PlanNode& node, Iteration& iteration);

  // Gives `outputs` (nullptr: the slots of `from`, where the readers are too) to the readers in `target`; returns how
  // many became ready.
  int Activate(const PlanNode& node, OpOutput* outputs, bool is_dead, Iteration& target, ReadyQueue& queue);
  void PlaceValues(const PlanNode& node, OpOutput* outputs, Iteration& target);
  bool IsActivated(const PlanEdge& edge, const PlanNode& dst, bool is_dead, bool from_enter, Iteration& target,
                   bool* dead);
  bool IsMergeActivated(const PlanEdge& edge, const PlanNode& dst, bool is_dead, bool from_enter, uint64_t& word,
                        bool* dead);

  void PropagateEnter(const PlanNode& node, const Ready& ready, ReadyQueue& queue);
  void PropagateExit(const PlanNode& node, const Ready& ready, ReadyQueue& queue);
  void PropagateNextIteration(const PlanNode& node, const Ready& ready, ReadyQueue& queue);
  void AddInvariant(const PlanNode& node, uint32_t id, OpOutput value, bool is_dead, FrameInstance& frame,
                    ReadyQueue& queue) REQUIRES(frame.mu);
  Iteration& StartIteration(FrameInstance& frame, ReadyQueue& queue) REQUIRES(frame.mu);

  // Changes the number of outstanding nodes; cleans up what ends by that, parents included.
  void Adjust(Iteration& iteration, int delta, ReadyQueue& queue);
  bool AdjustLocked(Iteration& iteration, int delta, ReadyQueue& queue) REQUIRES(iteration.frame->mu);
  // Ends iteration `number` and the following ones as far as they are done. True if the frame has ended.
  bool EndIterations(FrameInstance& frame, int64_t number, ReadyQueue& queue) REQUIRES(frame.mu);
  // Ends `ended` and the enclosing frames that end with it.
  void EndFrame(FrameInstance& ended, ReadyQueue& queue);

  Iteration& NewIteration(FrameInstance& frame, int64_t number);
  // Moves it to `*spare` if that is empty.
  void FreeIteration(Iteration& iteration, Iteration** spare = nullptr);
  FrameInstance& NewFrame(uint32_t index, FrameInstance* parent, Iteration* parent_iteration);
  void FreeFrame(FrameInstance& frame);

  // Per plan frame: all objects ever made, and those free for reuse.
  struct Pool {
    std::vector<std::unique_ptr<Iteration>> iterations;
    std::vector<Iteration*> free_iterations;
    std::vector<std::unique_ptr<FrameInstance>> frames;
    std::vector<FrameInstance*> free_frames;
  };
  Mutex pools_mu_;
  std::vector<Pool> pools_ GUARDED_BY(pools_mu_);
  std::vector<std::vector<uint32_t>> child_frames_;  // by frame, then place
  Iteration* root_ = nullptr;
};

}  // namespace weir
