// Batch, Unbatch and UnbatchGrad; BatchFunction.
#include <algorithm>
#include <random>

#include "core/memory/out_of_memory.h"
#include "kernels/control/function_call.h"
#include "kernels/coordination/batch_queue.h"
#include "kernels/coordination/family.h"
#include "kernels/data/element_buffer.h"

namespace weir {
namespace {

int64_t NewId() {
  thread_local std::mt19937_64 generator{std::random_device()()};
  return static_cast<int64_t>(generator() >> 2);
}

// What Batch and BatchFunction share: the queue, which other nodes of that name feed too.
class QueueingKernel : public AsyncOpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) final {
    RETURN_IF_ERROR(ctx.GetAttr("max_batch_size", &options_.max_batch_size));
    RETURN_IF_ERROR(ctx.GetAttr("batch_timeout_micros", &options_.timeout_micros));
    RETURN_IF_ERROR(ctx.GetAttr("max_enqueued_batches", &options_.max_batches));
    RETURN_IF_ERROR(ctx.GetAttr("allowed_batch_sizes", &allowed_));
    RETURN_IF_ERROR(ctx.GetAttr("container", &container_));
    RETURN_IF_ERROR(ctx.GetAttr("shared_name", &name_));
    std::string queue;
    RETURN_IF_ERROR(ctx.GetAttr("batching_queue", &queue));
    if (name_.empty()) name_ = ctx.name();
    absl::StrAppend(&name_, "/", queue);
    int64_t threads;
    RETURN_IF_ERROR(ctx.GetAttr("num_batch_threads", &threads));
    if (threads <= 0) return errors::InvalidArgument("num_batch_threads must be positive, got ", threads);
    if (options_.max_batch_size <= 0) {
      return errors::InvalidArgument("max_batch_size must be positive, got ", options_.max_batch_size);
    }
    if (options_.timeout_micros < 0) {
      return errors::InvalidArgument("batch_timeout_micros must be non-negative, got ", options_.timeout_micros);
    }
    options_.timeout_micros = std::min(options_.timeout_micros, kMostWaitMicros);
    for (size_t i = 1; i < allowed_.size(); ++i) {
      if (allowed_[i] <= allowed_[i - 1]) {
        return errors::InvalidArgument("allowed_batch_sizes entries must be monotonically increasing");
      }
    }
    if (!allowed_.empty() && allowed_.back() != options_.max_batch_size) {
      return errors::InvalidArgument("final entry in allowed_batch_sizes must equal max_batch_size");
    }
    return InitQueueing(ctx);
  }

  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) override {
    BatchTask task;
    task.ctx = &ctx;
    task.id = NewId();
    for (int i = 0; i < BatchedInputs(ctx); ++i) {
      task.inputs.push_back(ctx.locked_input(i));
      if (task.inputs[i].dims() == 0) {
        return done(errors::InvalidArgument("Batching input tensors must have at least one dimension"));
      }
      if (task.inputs[i].dim_size(0) != task.inputs[0].dim_size(0)) {
        return done(errors::InvalidArgument(
            "Batching input tensors supplied in a given op invocation must have equal 0th-dimension size"));
      }
    }
    if (task.inputs.empty()) return done(errors::InvalidArgument("There is nothing to batch"));
    task.size = task.inputs[0].dim_size(0);
    if (task.size == 0) {
      return done(errors::InvalidArgument("Batching input tensors must have a 0th dimension that is not empty"));
    }
    task.done = std::move(done);
    const auto make = [this]() -> absl::StatusOr<std::shared_ptr<BatchQueue>> {
      return std::make_shared<BatchQueue>(options_);
    };
    absl::StatusOr<std::shared_ptr<BatchQueue>> queue =
        ctx.resources()->LookupOrCreate<BatchQueue>(container_, name_, make);
    if (!queue.ok()) return task.done(queue.status());
    task.process = [this](BatchTasks tasks) { Process(std::move(tasks)); };
    (*queue)->Add(std::move(task));
  }

 protected:
  virtual absl::Status InitQueueing(OpKernelConstruction& ctx) { return absl::OkStatus(); }
  virtual int BatchedInputs(const OpKernelContext& ctx) const { return ctx.num_inputs(); }
  virtual void Process(BatchTasks tasks) = 0;

  static void Fail(const BatchTasks& tasks, const absl::Status& status) {
    for (const BatchTask& task : tasks) task.done(status);
  }
  // The size that a batch is filled up to.
  int64_t Allowed(int64_t size) const {
    const auto it = std::lower_bound(allowed_.begin(), allowed_.end(), size);
    return it == allowed_.end() ? size : *it;
  }

 private:
  BatchQueue::Options options_;
  std::vector<int64_t> allowed_;
  std::string container_, name_;
};

// The last of those that wait gets the whole batch and its index; the others get nothing.
class BatchKernel : public QueueingKernel {
 protected:
  void Process(BatchTasks tasks) override {
    absl::Status status = OrOutOfMemory([&] { return SetBatch(tasks); });
    Fail(tasks, status);
  }

 private:
  absl::Status SetBatch(const BatchTasks& tasks) const {
    OpKernelContext& last = *tasks.back().ctx;
    const size_t count = tasks[0].inputs.size();
    for (size_t i = 0; i < count; ++i) {
      ASSIGN_OR_RETURN(Tensor joined, JoinRows(last, tasks, i));
      last.set_output(static_cast<int>(i), std::move(joined));
    }
    ASSIGN_OR_RETURN(Tensor index, last.allocate_temp(DT_INT64, TensorShape({static_cast<int64_t>(tasks.size()), 3})));
    int64_t at = 0, *row = index.data<int64_t>();
    for (const BatchTask& task : tasks) {
      *row++ = task.id;
      *row++ = at;
      *row++ = at += task.size;
    }
    last.set_output(static_cast<int>(count), std::move(index));
    for (const BatchTask& task : tasks) {
      task.ctx->set_output(static_cast<int>(count) + 1, Tensor::Scalar<int64_t>(task.id));
      if (task.ctx == &last) continue;
      for (size_t i = 0; i < count; ++i) {
        task.ctx->set_output(static_cast<int>(i), task.inputs[i].Slice(0, 0));
      }
      task.ctx->set_output(static_cast<int>(count), Tensor(DT_INT64, TensorShape({0, 3})));
    }
    return absl::OkStatus();
  }
};

class BatchFunctionKernel : public QueueingKernel {
 protected:
  absl::Status InitQueueing(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(function_, function_call::InstantiateAttr(ctx, "f"));
    DataTypeVector batched;
    RETURN_IF_ERROR(ctx.GetAttr("Tin", &batched));
    batched_ = static_cast<int>(batched.size());
    return absl::OkStatus();
  }
  int BatchedInputs(const OpKernelContext&) const override { return batched_; }

  void Process(BatchTasks tasks) override {
    auto shared = std::make_shared<BatchTasks>(std::move(tasks));
    OpKernelContext& last = *shared->back().ctx;
    absl::StatusOr<function_call::Tensors> args = OrOutOfMemory([&] { return Arguments(*shared); });
    if (!args.ok()) return Fail(*shared, args.status());
    if (last.step().functions == nullptr) return Fail(*shared, errors::Internal("The step has no function library"));
    last.step().functions->RunAsync(function_, function_call::OptionsFor(last), *std::move(args),
                                    [shared](absl::StatusOr<function_call::Tensors> results) {
                                      absl::Status status = results.ok() ? Divide(*shared, *results) : results.status();
                                      Fail(*shared, status);
                                    });
  }

 private:
  // The rows of all, filled up with copies of the first one to a size that is allowed; then what was captured.
  absl::StatusOr<function_call::Tensors> Arguments(const BatchTasks& tasks) const {
    int64_t size = 0;
    for (const BatchTask& task : tasks) size += task.size;
    OpKernelContext& last = *tasks.back().ctx;
    function_call::Tensors args;
    for (int i = 0; i < batched_; ++i) {
      ASSIGN_OR_RETURN(Tensor joined, JoinRows(last, tasks, i));
      if (Allowed(size) > size) {
        ASSIGN_OR_RETURN(joined, Padded(last, joined, Allowed(size)));
      }
      args.push_back(std::move(joined));
    }
    for (int i = batched_; i < last.num_inputs(); ++i) args.push_back(last.locked_input(i));
    return args;
  }

  static absl::StatusOr<Tensor> Padded(OpKernelContext& ctx, const Tensor& batch, int64_t size) {
    TensorShape shape = batch.shape();
    RETURN_IF_ERROR(shape.SetDim(0, size));
    ASSIGN_OR_RETURN(Tensor padded, ctx.allocate_temp(batch.dtype(), shape));
    CopyElements(batch, padded, 0);
    const Tensor first = batch.Slice(0, 1);
    for (int64_t row = batch.dim_size(0); row < size; ++row) CopyElements(first, padded, row * first.NumElements());
    return padded;
  }

  static absl::Status Divide(const BatchTasks& tasks, const function_call::Tensors& results) {
    int64_t size = 0;
    for (const BatchTask& task : tasks) size += task.size;
    for (size_t o = 0; o < results.size(); ++o) {
      const Tensor& result = results[o];
      if (result.dims() == 0 || result.dim_size(0) < size) {
        return errors::FailedPrecondition("Batched output tensor's 0th dimension does not equal the sum of the 0th ",
                                          "dimension sizes of the input tensors: ", result.shape().ToString());
      }
      int64_t at = 0;
      for (const BatchTask& task : tasks) {
        if (static_cast<int>(o) >= task.ctx->num_outputs() ||
            result.dtype() != task.ctx->expected_output_dtype(static_cast<int>(o))) {
          return errors::InvalidArgument("The function's result ", o, " does not fit the node's outputs");
        }
        ASSIGN_OR_RETURN(Tensor part, result.Slice(at, at + task.size).DeepCopy(task.ctx->allocator()));
        task.ctx->set_output(static_cast<int>(o), std::move(part));
        at += task.size;
      }
    }
    return static_cast<int>(results.size()) == tasks[0].ctx->num_outputs()
               ? absl::OkStatus()
               : errors::InvalidArgument("The function returned ", results.size(), " values");
  }

  FunctionRuntime::Handle function_ = 0;
  int batched_ = 0;
};

}  // namespace

absl::Status RegisterBatchingKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<BatchKernel>(Kernel("Batch").Cpu()));
  return kernels.Register<BatchFunctionKernel>(Kernel("BatchFunction").Cpu());
}

}  // namespace weir
