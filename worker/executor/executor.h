// Runs a compiled partition, any number of steps at once.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/mutex.h"
#include "worker/executor/step_execution.h"

namespace weir {

// Thread-safe. Reuses the memory of finished steps.
class Executor : public std::enable_shared_from_this<Executor> {
 public:
  static std::shared_ptr<Executor> Create(std::shared_ptr<const Plan> plan);
  ~Executor();

  const Plan& plan() const { return *plan_; }
  const NodeCosts& costs() const { return costs_; }

  // Runs a step on the calling thread as far as possible, and waits for the rest. InvalidArgument for a wrong number of
  // arguments or an argument of the wrong type. The first node that fails aborts the step, its rendezvous and its
  // cancellation manager; the returned status names the node.
  absl::Status RunSync(const StepArgs& args);
  // `done` runs once, with no lock held. With `on_caller`, the calling thread computes until only others can continue.
  void RunAsync(const StepArgs& args, bool on_caller, std::function<void(absl::Status)> done);

 private:
  explicit Executor(std::shared_ptr<const Plan> plan);
  absl::Status CheckArguments(const StepArgs& args) const;
  std::unique_ptr<StepExecution> Acquire();
  void Release(std::unique_ptr<StepExecution> execution);

  const std::shared_ptr<const Plan> plan_;
  NodeCosts costs_;
  Mutex mu_;
  std::vector<std::unique_ptr<StepExecution>> idle_ GUARDED_BY(mu_);
};

}  // namespace weir
