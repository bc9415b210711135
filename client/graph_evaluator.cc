#include "client/graph_evaluator.h"

#include "core/device/device.h"
#include "core/device/device_name.h"
#include "core/threads/cancellation.h"
#include "core/threads/work_queue.h"
#include "graph/graph.h"
#include "kernels/library.h"
#include "master/graph_preparation.h"

namespace weir {

struct GraphEvaluator::State {
  const OpRegistry* ops = nullptr;
  KernelRegistry kernels;
  std::unique_ptr<WorkQueue> work_queue;
  std::unique_ptr<Device> device;
  CancellationManager never;
};

GraphEvaluator::GraphEvaluator(std::unique_ptr<State> state) : state_(std::move(state)) {}
GraphEvaluator::~GraphEvaluator() = default;

absl::StatusOr<std::unique_ptr<GraphEvaluator>> GraphEvaluator::Create(const OpRegistry* ops) {
  auto state = std::make_unique<State>();
  state->ops = ops;
  RETURN_IF_ERROR(RegisterAllKernels(state->kernels));
  state->work_queue = WorkQueue::Create({.name = "evaluator", .compute_threads = 1});
  ASSIGN_OR_RETURN(const DeviceName task, DeviceName::Parse("/job:localhost/replica:0/task:0"));
  state->device = NewCpuDevice(task, 0, state->work_queue.get());
  return std::unique_ptr<GraphEvaluator>(new GraphEvaluator(std::move(state)));
}

Evaluator GraphEvaluator::evaluator() const {
  return MakeEvaluator(&state_->kernels, state_->ops, state_->device.get(), &state_->never);
}

}  // namespace weir
