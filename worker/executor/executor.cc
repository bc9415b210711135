#include "worker/executor/executor.h"

#include "graph/graph.h"
#include "worker/executor/framed_execution.h"
#include "worker/executor/straight_execution.h"

namespace weir {
namespace {

constexpr size_t kMaxIdle = 16;

}  // namespace

std::shared_ptr<Executor> Executor::Create(std::shared_ptr<const Plan> plan) {
  return std::shared_ptr<Executor>(new Executor(std::move(plan)));
}

Executor::Executor(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)), costs_(plan_->nodes.size()) {}
Executor::~Executor() = default;

absl::Status Executor::CheckArguments(const StepArgs& args) const {
  if (args.arguments.size() != plan_->arguments.size()) {
    return errors::InvalidArgument("The graph takes ", plan_->arguments.size(), " arguments but ",
                                   args.arguments.size(), " were given");
  }
  for (size_t i = 0; i < args.arguments.size(); ++i) {
    const Node* node = plan_->arguments[i].node;
    if (node == nullptr || args.arguments[i].dtype() == RemoveRef(node->output_type(0))) continue;
    return errors::InvalidArgument("Argument ", i, " is ", DataTypeName(args.arguments[i].dtype()), " but {{node ",
                                   node->name(), "}} expects ", DataTypeName(node->output_type(0)));
  }
  return absl::OkStatus();
}

absl::Status Executor::RunSync(const StepArgs& args) {
  RETURN_IF_ERROR(CheckArguments(args));
  std::unique_ptr<StepExecution> execution = Acquire();
  absl::Status status = execution->RunSync(args);
  Release(std::move(execution));
  return status;
}

void Executor::RunAsync(const StepArgs& args, bool on_caller, std::function<void(absl::Status)> done) {
  if (absl::Status status = CheckArguments(args); !status.ok()) return done(std::move(status));
  StepExecution* execution = Acquire().release();
  execution->RunAsync(args, on_caller,
                      [self = shared_from_this(), execution, done = std::move(done)](absl::Status status) mutable {
                        self->Release(std::unique_ptr<StepExecution>(execution));
                        // Objects kept alive by `done` may outlive the executor.
                        self.reset();
                        done(std::move(status));
                      });
}

std::unique_ptr<StepExecution> Executor::Acquire() {
  {
    MutexLock lock(mu_);
    if (!idle_.empty()) {
      std::unique_ptr<StepExecution> execution = std::move(idle_.back());
      idle_.pop_back();
      return execution;
    }
  }
  if (plan_->framed) return std::make_unique<FramedExecution>(*plan_, costs_);
  return std::make_unique<StraightExecution>(*plan_, costs_);
}

void Executor::Release(std::unique_ptr<StepExecution> execution) {
  MutexLock lock(mu_);
  if (idle_.size() < kMaxIdle) idle_.push_back(std::move(execution));
}

}  // namespace weir
