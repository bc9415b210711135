// Kernels that enqueue and dequeue. Waiting is asynchronous.
#include "core/tensor/index_tensor.h"
#include "kernels/coordination/family.h"
#include "kernels/coordination/queue.h"
#include "kernels/device/named_resource.h"
#include "kernels/device/resource_users.h"

namespace weir {
namespace {

// Finds the queue, then goes on in Run.
class QueueOpKernel : public AsyncOpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    int64_t timeout = -1;
    if (ctx.HasAttr("timeout_ms")) RETURN_IF_ERROR(ctx.GetAttr("timeout_ms", &timeout));
    return timeout == -1 ? absl::OkStatus() : errors::InvalidArgument("Timeout not supported yet.");
  }
  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) final {
    absl::StatusOr<std::shared_ptr<Queue>> queue = FindResource<Queue>(ctx, 0);
    if (!queue.ok()) return done(queue.status());
    done = AwaitShared(ctx, *queue, "queue", (*queue)->options().name, std::move(done));
    Run(ctx, std::move(*queue), std::move(done));
  }

 protected:
  virtual void Run(OpKernelContext& ctx, std::shared_ptr<Queue> queue, DoneCallback done) = 0;
};

template <bool kMany>
class EnqueueKernel : public QueueOpKernel {
 protected:
  void Run(OpKernelContext& ctx, std::shared_ptr<Queue> queue, DoneCallback done) override {
    Queue::Tuple tuple;
    for (int i = 1; i < ctx.num_inputs(); ++i) tuple.push_back(ctx.locked_input(i));
    if (absl::Status status = queue->CheckTuple(tuple, kMany); !status.ok()) return done(std::move(status));
    std::vector<Queue::Tuple> tuples;
    if (kMany) {
      // Rows without elements cost the client nothing.
      constexpr int64_t kMaxTuples = int64_t{1} << 26;
      if (tuple[0].dim_size(0) > kMaxTuples) {
        return done(errors::ResourceExhausted("Cannot enqueue ", tuple[0].dim_size(0), " elements at once"));
      }
      tuples.resize(tuple[0].dim_size(0));
      for (size_t n = 0; n < tuples.size(); ++n) {
        for (const Tensor& component : tuple) tuples[n].push_back(component.SubSlice(n));
      }
    } else {
      tuples.push_back(std::move(tuple));
    }
    queue->Enqueue(std::move(tuples), ctx.cancellation(), std::move(done));
  }
};

absl::Status CheckOutputTypes(const OpKernelContext& ctx, const Queue& queue) {
  const DataTypeVector& types = queue.options().types;
  bool ok = ctx.num_outputs() == static_cast<int>(types.size());
  for (int i = 0; ok && i < ctx.num_outputs(); ++i) ok = ctx.expected_output_dtype(i) == types[i];
  if (ok) return absl::OkStatus();
  return errors::InvalidArgument("The op's component types differ from those of the queue '", queue.options().name,
                                 "': ", DataTypeListName(types));
}

class DequeueKernel : public QueueOpKernel {
 protected:
  void Run(OpKernelContext& ctx, std::shared_ptr<Queue> queue, DoneCallback done) override {
    if (absl::Status status = CheckOutputTypes(ctx, *queue); !status.ok()) return done(std::move(status));
    queue->Dequeue(1, /*up_to=*/false, ctx.cancellation(),
                   [&ctx, done = std::move(done)](absl::StatusOr<std::vector<Queue::Tuple>> tuples) {
                     if (!tuples.ok()) return done(tuples.status());
                     for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, std::move((*tuples)[0][i]));
                     done(absl::OkStatus());
                   });
  }
};

template <bool kUpTo>
class DequeueManyKernel : public QueueOpKernel {
 protected:
  void Run(OpKernelContext& ctx, std::shared_ptr<Queue> queue, DoneCallback done) override {
    const absl::StatusOr<int64_t> count = Check(ctx, *queue);
    if (!count.ok()) return done(count.status());
    if (*count == 0) return done(SetOutputs(ctx, *queue, {}));
    queue->Dequeue(*count, kUpTo, ctx.cancellation(),
                   [&ctx, queue, done = std::move(done)](absl::StatusOr<std::vector<Queue::Tuple>> tuples) {
                     done(tuples.ok() ? SetOutputs(ctx, *queue, *tuples) : tuples.status());
                   });
  }

 private:
  static absl::StatusOr<int64_t> Check(const OpKernelContext& ctx, const Queue& queue) {
    RETURN_IF_ERROR(CheckOutputTypes(ctx, queue));
    ASSIGN_OR_RETURN(const int64_t count, ReadScalarInteger(ctx.input(1), "n"));
    if (count < 0) return errors::InvalidArgument("DequeueManyOp requested ", count, " < 0 elements");
    if (queue.options().shapes.empty()) {
      return errors::InvalidArgument(queue.options().kind,
                                     "'s DequeueMany and DequeueUpTo require the components to have specified shapes.");
    }
    return count;
  }

  static absl::Status SetOutputs(OpKernelContext& ctx, const Queue& queue, const std::vector<Queue::Tuple>& tuples) {
    ASSIGN_OR_RETURN(Queue::Tuple stacked, queue.Stack(ctx, tuples));
    for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, std::move(stacked[i]));
    return absl::OkStatus();
  }
};

class QueueCloseKernel : public QueueOpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    return ctx.GetAttr("cancel_pending_enqueues", &cancel_pending_enqueues_);
  }

 protected:
  void Run(OpKernelContext& ctx, std::shared_ptr<Queue> queue, DoneCallback done) override {
    queue->Close(cancel_pending_enqueues_, ctx.cancellation(), std::move(done));
  }

 private:
  bool cancel_pending_enqueues_ = false;
};

template <bool kSize>
class QueueStateKernel : public OpKernel {  // QueueSize, QueueIsClosed
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<Queue> queue, FindResource<Queue>(ctx, 0));
    ctx.set_output(0, kSize ? Tensor::Scalar(static_cast<int32_t>(queue->size())) : Tensor::Scalar(queue->is_closed()));
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterQueueKernels(KernelRegistry& kernels) {
  for (const std::string version : {"", "V2"}) {
    const auto on = [&version](const char* op) { return Kernel(op + version).Cpu(); };
    RETURN_IF_ERROR(kernels.Register<EnqueueKernel<false>>(on("QueueEnqueue")));
    RETURN_IF_ERROR(kernels.Register<EnqueueKernel<true>>(on("QueueEnqueueMany")));
    RETURN_IF_ERROR(kernels.Register<DequeueKernel>(on("QueueDequeue")));
    RETURN_IF_ERROR(kernels.Register<DequeueManyKernel<false>>(on("QueueDequeueMany")));
    RETURN_IF_ERROR(kernels.Register<DequeueManyKernel<true>>(on("QueueDequeueUpTo")));
    RETURN_IF_ERROR(kernels.Register<QueueCloseKernel>(on("QueueClose")));
    RETURN_IF_ERROR(kernels.Register<QueueStateKernel<true>>(on("QueueSize")));
    RETURN_IF_ERROR(kernels.Register<QueueStateKernel<false>>(on("QueueIsClosed")));
  }
  return absl::OkStatus();
}

}  // namespace weir
