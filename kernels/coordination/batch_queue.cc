#include "kernels/coordination/batch_queue.h"

#include <algorithm>
#include <chrono>

#include "kernels/data/element_buffer.h"

namespace weir {

absl::StatusOr<Tensor> JoinRows(OpKernelContext& ctx, const BatchTasks& tasks, size_t i) {
  const Tensor& first = tasks[0].inputs[i];
  if (tasks.size() == 1) return first;
  int64_t rows = 0;
  for (const BatchTask& task : tasks) {
    const Tensor& other = task.inputs[i];
    bool fits = other.dtype() == first.dtype() && other.dims() == first.dims();
    for (int d = 1; fits && d < first.dims(); ++d) fits = other.dim_size(d) == first.dim_size(d);
    if (!fits) {
      return errors::InvalidArgument("Batching input tensors must have equal types and dimensions but the first: ",
                                     first.shape().ToString(), " vs. ", other.shape().ToString());
    }
    rows += other.dim_size(0);
  }
  TensorShape shape = first.shape();
  RETURN_IF_ERROR(shape.SetDim(0, rows));
  ASSIGN_OR_RETURN(Tensor joined, ctx.allocate_temp(first.dtype(), shape));
  int64_t at = 0;
  for (const BatchTask& task : tasks) {
    CopyElements(task.inputs[i], joined, at);
    at += task.inputs[i].NumElements();
  }
  return joined;
}

absl::Status BatchQueue::Enter(BatchTask& task, std::shared_ptr<Batch>* begun) {
  if (task.size > options_.max_batch_size) {
    return errors::InvalidArgument("Task size ", task.size, " is larger than maximum input batch size ",
                                   options_.max_batch_size);
  }
  MutexLock lock(mu_);
  // Cancellation that came earlier has found nothing to drop.
  CancellationManager* const cancellation = task.ctx->cancellation();
  if (cancellation != nullptr && cancellation->IsCancelled()) return cancellation->status();
  if (open_ != nullptr && open_->size + task.size > options_.max_batch_size) {
    open_->closed = true;
    open_->changed.notify_all();
    open_ = nullptr;
  }
  if (open_ == nullptr) {
    if (waiting_ >= std::max<int64_t>(options_.max_batches, 1)) {
      return errors::Unavailable("The batch scheduling queue to which this task was submitted is full");
    }
    ++waiting_;
    *begun = open_ = std::make_shared<Batch>();
  }
  open_->size += task.size;
  open_->tasks.push_back(std::move(task));
  if (open_->size == options_.max_batch_size) {
    open_->closed = true;
    open_->changed.notify_all();
    open_ = nullptr;
  }
  return absl::OkStatus();
}

void BatchQueue::Add(BatchTask task) {
  OpKernelContext& ctx = *task.ctx;
  WorkQueue* const work_queue = ctx.work_queue();
  CancellationManager* const cancellation = ctx.cancellation();
  const int64_t id = task.id;
  AsyncOpKernel::DoneCallback done = task.done;
  if (cancellation != nullptr) {
    task.token = cancellation->Register([weak = weak_from_this(), id] {
      if (auto self = weak.lock()) self->Drop(id);
    });
    if (task.token == CancellationManager::kInvalidToken) return done(cancellation->status());
  }
  const CancellationManager::Token token = task.token;
  std::shared_ptr<Batch> begun;
  absl::Status status = Enter(task, &begun);
  if (!status.ok()) {
    if (cancellation != nullptr) cancellation->TryDeregister(token);
    return done(std::move(status));
  }
  if (begun == nullptr) return;
  work_queue->ScheduleBlocking([self = shared_from_this(), begun] { self->Wait(begun); });
}

void BatchQueue::Wait(const std::shared_ptr<Batch>& batch) {
  BatchTasks tasks;
  {
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(options_.timeout_micros);
    MutexLock lock(mu_);
    while (!batch->closed && std::chrono::steady_clock::now() < until) lock.WaitUntil(batch->changed, until);
    batch->closed = true;
    if (open_ == batch) open_ = nullptr;
    --waiting_;
    tasks = std::move(batch->tasks);
  }
  for (BatchTask& task : tasks) {
    if (task.ctx->cancellation() != nullptr) task.ctx->cancellation()->TryDeregister(task.token);
  }
  if (tasks.empty()) return;
  const auto process = tasks.back().process;
  process(std::move(tasks));
}

void BatchQueue::Drop(int64_t id) {
  BatchTask dropped;
  {
    MutexLock lock(mu_);
    if (open_ == nullptr) return;
    const auto it =
        std::find_if(open_->tasks.begin(), open_->tasks.end(), [id](const BatchTask& task) { return task.id == id; });
    if (it == open_->tasks.end()) return;
    dropped = std::move(*it);
    open_->size -= dropped.size;
    open_->tasks.erase(it);
    if (open_->tasks.empty()) {
      open_->closed = true;
      open_->changed.notify_all();
      open_ = nullptr;
    }
  }
  dropped.done(dropped.ctx->cancellation()->status());
}

}  // namespace weir
