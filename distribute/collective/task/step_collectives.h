// The collectives of one step on one task.
#pragma once

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "core/mutex.h"
#include "core/rendezvous/collective.h"
#include "distribute/collective/task/step_watch.h"
#include "distribute/collective/task/task_collectives.h"

namespace weir {

// Thread-safe. Its destruction ends the step on this task, and waiting peers get an error.
class StepCollectives : public CollectiveExecutor {
 public:
  // `exchange`: the result of StepExchanges::Begin.
  StepCollectives(TaskCollectives* task, int64_t step_id, std::string leader, StepExchanges::Result exchange);
  ~StepCollectives() override;

  // Ops that start later end before the earliest deadline given so far.
  void EndBy(absl::Time deadline);

  std::string DebugString() const override;
  void RunAsync(const CollectiveParams& params, Device* device, const Tensor& input, Tensor* output,
                CancellationManager* cancellation, DoneCallback done) override;
  void JoinGroupAsync(const CollectiveGroup& group, const std::string& name, Device* device, absl::Duration timeout,
                      CancellationManager* cancellation, DoneCallback done) override;

 private:
  class Op;

  absl::Time deadline();

  TaskCollectives* const task_;
  const int64_t step_id_;
  const std::string leader_;
  const StepExchanges::Result exchange_;
  const std::shared_ptr<StepWatch> watch_;
  Mutex mu_;
  absl::Time deadline_ GUARDED_BY(mu_) = absl::InfiniteFuture();
};

}  // namespace weir
