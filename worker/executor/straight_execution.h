// Executes plans without control flow.
#pragma once

#include <memory>
#include <vector>

#include "worker/executor/step_execution.h"

namespace weir {

class StraightExecution final : public StepExecution {
 public:
  StraightExecution(const Plan& plan, NodeCosts& costs);

 protected:
  void Begin(ReadyQueue& queue) override;
  void Drain(Runner& runner) override;
  void Propagate(const PlanNode& node, const Ready& ready, ReadyQueue& queue) override;
  OpOutput* Slots(const Ready&) override { return slots_.get(); }
  void Clean(bool failed) override;

 private:
  static constexpr uint32_t kNone = ~0u;
  // As Propagate, but returns one of the nodes that became ready instead of pushing it.
  uint32_t PropagateToNext(const PlanNode& node, ReadyQueue& queue);

  const std::unique_ptr<OpOutput[]> slots_;
  std::vector<uint32_t> pending_;  // accessed atomically while the step runs
};

}  // namespace weir
