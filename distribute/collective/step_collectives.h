// The collectives that one step runs on one task.
#pragma once

#include <memory>
#include <string>

#include "core/collective.h"
#include "distribute/collective/task_collectives.h"

namespace weir {

// Thread-safe. When it goes, the step has ended on this task: peers that still wait for its messages are told so.
class StepCollectives : public CollectiveExecutor {
 public:
  StepCollectives(TaskCollectives* task, int64_t step_id, std::string leader);
  ~StepCollectives() override;

  std::string DebugString() const override;
  void RunAsync(const CollectiveParams& params, Device* device, const Tensor& input, Tensor* output,
                CancellationManager* cancellation, DoneCallback done) override;
  void JoinGroupAsync(const CollectiveGroup& group, const std::string& name, Device* device, absl::Duration timeout,
                      CancellationManager* cancellation, DoneCallback done) override;

 private:
  class Op;

  TaskCollectives* const task_;
  const int64_t step_id_;
  const std::string leader_;
  // What the step ended with before it began here, if it had.
  const absl::StatusOr<std::shared_ptr<StepExchange>> exchange_;
};

}  // namespace weir
