// Batch, Unbatch and UnbatchGrad; BatchFunction.
#include <algorithm>
#include <random>

#include "core/memory/out_of_memory.h"
#include "kernels/control/function_call.h"
#include "kernels/coordination/batch_queue.h"
#include "kernels/coordination/family.h"
#include "kernels/data/element_buffer.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/function.pb.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/op_def.pb.h"

namespace weir {
namespace {

int64_t NewId() {
  thread_local std::mt19937_64 generator{std::random_device()()};
  return static_cast<int64_t>(generator() >> 2);
}

absl::StatusOr<Tensor> Padded(OpKernelContext& ctx, const Tensor& batch, int64_t size) {
  if (size <= batch.dim_size(0)) return batch;
  TensorShape shape = batch.shape();
  RETURN_IF_ERROR(shape.SetDim(0, size));
  ASSIGN_OR_RETURN(Tensor padded, ctx.allocate_temp(batch.dtype(), shape));
  CopyElements(batch, padded, 0);
  const Tensor first = batch.Slice(0, 1);
  for (int64_t row = batch.dim_size(0); row < size; ++row) CopyElements(first, padded, row * first.NumElements());
  return padded;
}

int64_t SizeOf(const BatchTasks& tasks) {
  int64_t size = 0;
  for (const BatchTask& task : tasks) size += task.size;
  return size;
}

// A call that is too large for one batch, while its pieces are in several.
struct SplitCall {
  OpKernelContext* ctx = nullptr;
  AsyncOpKernel::DoneCallback done;
  BatchTasks results;  // of each piece, as inputs
  Mutex mu;
  size_t pending GUARDED_BY(mu) = 0;
  absl::Status status GUARDED_BY(mu);

  void PieceDone(const absl::Status& piece) {
    absl::Status ended;
    {
      MutexLock lock(mu);
      status.Update(piece);
      if (--pending > 0) return;
      ended = status;
    }
    if (ended.ok()) ended = OrOutOfMemory([this] { return SetOutputs(); });
    done(std::move(ended));
  }
  absl::Status SetOutputs() {
    for (int i = 0; i < ctx->num_outputs(); ++i) {
      ASSIGN_OR_RETURN(Tensor joined, JoinRows(*ctx, results, i));
      ctx->set_output(i, std::move(joined));
    }
    return absl::OkStatus();
  }
};

// The pieces of `task`, none larger than `most`.
BatchTasks Split(BatchTask task, int64_t most) {
  auto call = std::make_shared<SplitCall>();
  call->ctx = task.ctx;
  call->done = std::move(task.done);
  const size_t count = static_cast<size_t>((task.size + most - 1) / most);
  call->results.resize(count);
  {
    MutexLock lock(call->mu);
    call->pending = count;
  }
  BatchTasks pieces(count);
  for (size_t i = 0; i < count; ++i) {
    const int64_t begin = static_cast<int64_t>(i) * most;
    BatchTask& piece = pieces[i];
    piece.ctx = task.ctx;
    piece.id = NewId();
    piece.size = std::min(most, task.size - begin);
    for (const Tensor& input : task.inputs) piece.inputs.push_back(input.Slice(begin, begin + piece.size));
    piece.process = task.process;
    call->results[i].inputs.resize(task.ctx->num_outputs());
    piece.deliver = [call, i](int output, Tensor part) { call->results[i].inputs[output] = std::move(part); };
    piece.done = [call](const absl::Status& status) { call->PieceDone(status); };
  }
  return pieces;
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
    const bool is_function = ctx.HasAttr("enable_large_batch_splitting");
    // A function is batched by threads that all such kernels share, unless it asks for its own.
    if (threads <= 0 && !is_function) {
      return errors::InvalidArgument("num_batch_threads must be positive; was ", threads);
    }
    if (options_.max_batch_size <= 0) {
      return errors::InvalidArgument("input_batch_size_limit must be positive; was ", options_.max_batch_size);
    }
    if (options_.timeout_micros < 0) {
      return errors::InvalidArgument("batch_timeout_micros must be non-negative; was ", options_.timeout_micros);
    }
    options_.timeout_micros = std::min(options_.timeout_micros, kMostWaitMicros);
    for (size_t i = 1; i < allowed_.size(); ++i) {
      if (allowed_[i] <= allowed_[i - 1]) {
        return errors::InvalidArgument("allowed_batch_sizes entries must be monotonically increasing");
      }
    }
    largest_task_ = options_.max_batch_size;
    if (is_function) RETURN_IF_ERROR(ctx.GetAttr("enable_large_batch_splitting", &splits_));
    if (!allowed_.empty() && splits_) {
      if (allowed_.back() > largest_task_) {
        return errors::InvalidArgument("When enable_large_batch_splitting is true, input_batch_size_limit must be ",
                                       "greater than or equal to max_execution_batch_size.");
      }
      options_.max_batch_size = allowed_.back();
    } else if (!allowed_.empty() && allowed_.back() != options_.max_batch_size) {
      return errors::InvalidArgument("final entry in allowed_batch_sizes must equal max_batch_size",
                                     is_function ? " when enable_large_batch_splitting is False" : "");
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
      for (int i = 0; i < ctx.num_outputs(); ++i) {
        ctx.set_output(i, Tensor(ctx.expected_output_dtype(i), TensorShape({0})));
      }
      return done(absl::OkStatus());
    }
    if (task.size > largest_task_) {
      return done(
          errors::InvalidArgument("Task size ", task.size, " is larger than maximum input batch size ", largest_task_));
    }
    task.done = std::move(done);
    const auto make = [this]() -> absl::StatusOr<std::shared_ptr<BatchQueue>> {
      return std::make_shared<BatchQueue>(options_);
    };
    absl::StatusOr<std::shared_ptr<BatchQueue>> queue =
        ctx.resources()->LookupOrCreate<BatchQueue>(container_, name_, make);
    if (!queue.ok()) return task.done(queue.status());
    task.process = [this](BatchTasks tasks) { Process(std::move(tasks)); };
    if (task.size <= options_.max_batch_size) return (*queue)->Add(std::move(task));
    for (BatchTask& piece : Split(std::move(task), options_.max_batch_size)) (*queue)->Add(std::move(piece));
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
  bool splits_ = false;
  int64_t largest_task_ = 0;
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
      ASSIGN_OR_RETURN(joined, Padded(last, joined, Allowed(SizeOf(tasks))));
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
    return CheckBody(ctx);
  }
  int BatchedInputs(const OpKernelContext&) const override { return batched_; }

  void Process(BatchTasks tasks) override {
    auto shared = std::make_shared<BatchTasks>(std::move(tasks));
    OpKernelContext& last = *shared->back().ctx;
    absl::StatusOr<function_call::Tensors> args = OrOutOfMemory([&] { return Arguments(*shared); });
    if (!args.ok()) return Fail(*shared, args.status());
    if (last.step().functions == nullptr) return Fail(*shared, errors::Internal("The step has no function library"));
    last.step().functions->RunAsync(function_, function_call::OptionsFor(last), *std::move(args),
                                    [this, shared](absl::StatusOr<function_call::Tensors> results) {
                                      absl::Status status = results.ok() ? Divide(*shared, *results) : results.status();
                                      Fail(*shared, status);
                                    });
  }

 private:
  // A batch runs on the kernel's own task. InvalidArgument for a node that asks for another, and for arguments that the
  // function does not take.
  static absl::Status CheckBody(OpKernelConstruction& ctx) {
    tensorflow::NameAttrList function;
    RETURN_IF_ERROR(ctx.GetAttr("f", &function));
    const tensorflow::FunctionDef* const body = ctx.functions()->Find(function.name());
    if (body == nullptr) return absl::OkStatus();  // reported where it is instantiated
    const auto& parameters = body->signature().input_arg();
    if (parameters.size() != static_cast<int>(ctx.input_types().size())) {
      return errors::InvalidArgument("Function takes ", parameters.size(), " argument(s) but ",
                                     ctx.input_types().size(), " argument(s) were passed");
    }
    for (int i = 0; i < parameters.size(); ++i) {
      const auto type = static_cast<DataType>(parameters[i].type());
      if (type == DT_INVALID || type == ctx.input_types()[i]) continue;  // an attribute may say
      return errors::InvalidArgument("Expects arg[", i, "] to be ", DataTypeName(type), " but ",
                                     DataTypeName(ctx.input_types()[i]), " is provided");
    }
    const DeviceName& here = ctx.device()->parsed_name();
    for (const auto& node : body->node_def()) {
      ASSIGN_OR_RETURN(DeviceName wanted, DeviceName::Parse(node.device()));
      wanted.type.reset();
      wanted.id.reset();
      if (here.Matches(wanted)) continue;
      return errors::InvalidArgument("Cannot assign a device for operation ", node.name(), ": {{node ", node.name(),
                                     "}} was explicitly assigned to ", node.device(), " but available devices are [ ",
                                     ctx.device()->name(),
                                     " ]. A batched function runs on the task that collects its batches.");
    }
    return absl::OkStatus();
  }

  // The rows of all, filled up with copies of the first one to a size that is allowed; then what was captured.
  absl::StatusOr<function_call::Tensors> Arguments(const BatchTasks& tasks) const {
    OpKernelContext& last = *tasks.back().ctx;
    function_call::Tensors args;
    for (int i = 0; i < batched_; ++i) {
      ASSIGN_OR_RETURN(Tensor joined, JoinRows(last, tasks, i));
      ASSIGN_OR_RETURN(joined, Padded(last, joined, Allowed(SizeOf(tasks))));
      args.push_back(std::move(joined));
    }
    for (int i = batched_; i < last.num_inputs(); ++i) args.push_back(last.locked_input(i));
    return args;
  }

  absl::Status Divide(const BatchTasks& tasks, const function_call::Tensors& results) const {
    OpKernelContext& any = *tasks[0].ctx;
    if (static_cast<int>(results.size()) != any.num_outputs()) {
      return errors::Internal("Wrong number of batched output tensors");
    }
    const int64_t size = SizeOf(tasks), padded = std::max(size, Allowed(size));
    for (int o = 0; o < any.num_outputs(); ++o) {
      const Tensor& result = results[o];
      if (result.dtype() != any.expected_output_dtype(o)) {
        return errors::Internal("Output ", o, " of type ", DataTypeName(result.dtype()),
                                " does not match declared output type ", DataTypeName(any.expected_output_dtype(o)),
                                " for node {{node ", any.node_def().name(), "}}");
      }
      if (result.dims() == 0) return errors::FailedPrecondition("Batched output tensor has 0 dimensions");
      if (result.dim_size(0) != padded) {
        return errors::FailedPrecondition(
            "Batched output tensor's 0th dimension does not equal the sum of the 0th dimension sizes of the input "
            "tensors. 0th dimension size: ",
            result.dim_size(0), "; batch size: ", size, "; unbatched tasks size: 0; padding size: ", padded - size);
      }
      int64_t at = 0;
      for (const BatchTask& task : tasks) {
        ASSIGN_OR_RETURN(Tensor part, result.Slice(at, at + task.size).DeepCopy(task.ctx->allocator()));
        if (task.deliver) {
          task.deliver(o, std::move(part));
        } else {
          task.ctx->set_output(o, std::move(part));
        }
        at += task.size;
      }
    }
    return absl::OkStatus();
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
