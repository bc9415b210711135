// While and For, whose condition and body are functions.
#include <atomic>
#include <memory>

#include "core/kernel/kernel_registry.h"
#include "kernels/control/family.h"
#include "kernels/control/function_call.h"
#include "kernels/device/blocking_kernel.h"

namespace weir {
namespace {

using function_call::InstantiateAttr;
using function_call::SetOutputs;
using function_call::Tensors;
using function_call::Truth;

// One run of a While. Calls that complete inline continue in the loop below, so iterations do not pile up on the stack.
class WhileRun : public std::enable_shared_from_this<WhileRun> {
 public:
  WhileRun(OpKernelContext& ctx, FunctionRuntime::Handle cond, FunctionRuntime::Handle body,
           AsyncOpKernel::DoneCallback done)
      : ctx_(ctx),
        cond_(cond),
        body_(body),
        options_(function_call::OptionsFor(ctx)),
        values_(function_call::Inputs(ctx, 0)),
        done_(std::move(done)) {}

  void Run() {
    for (;;) {
      phase_.store(kLaunching, std::memory_order_relaxed);
      Tensors args = in_body_ ? std::exchange(values_, {}) : values_;
      ctx_.step().functions->RunAsync(in_body_ ? body_ : cond_, options_, std::move(args),
                                      [self = shared_from_this()](absl::StatusOr<Tensors> values) {
                                        self->result_ = std::move(values);
                                        if (self->phase_.exchange(kDone) == kReturned && self->Take()) self->Run();
                                      });
      if (phase_.exchange(kReturned) != kDone || !Take()) return;
    }
  }

 private:
  enum Phase { kLaunching, kReturned, kDone };

  // False if the loop has ended.
  bool Take() {
    absl::StatusOr<bool> go_on = TakeResult();
    if (go_on.ok() && *go_on) return true;
    done_(go_on.ok() ? SetOutputs(ctx_, std::move(values_)) : go_on.status());
    return false;
  }

  absl::StatusOr<bool> TakeResult() {
    RETURN_IF_ERROR(result_.status());
    RETURN_IF_ERROR(CheckCancelled(ctx_));  // functions that run no kernel do not notice
    if (in_body_) {
      if (static_cast<int>(result_->size()) != ctx_.num_inputs()) {
        return errors::InvalidArgument("While loop body returned ", result_->size(),
                                       " arguments. Expected: ", ctx_.num_inputs(), ".");
      }
      for (int i = 0; i < ctx_.num_inputs(); ++i) {
        if ((*result_)[i].dtype() == ctx_.expected_output_dtype(i)) continue;
        return errors::InvalidArgument("Expected type ", DataTypeName(ctx_.expected_output_dtype(i)),
                                       " for return value ", i, " but got ", DataTypeName((*result_)[i].dtype()), ".");
      }
      values_ = *std::move(result_);
      in_body_ = false;
      return true;
    }
    if (result_->size() != 1) {
      return errors::InvalidArgument("Expected a single scalar return value from WhileOp cond, got ", result_->size(),
                                     " tensors.");
    }
    ASSIGN_OR_RETURN(in_body_, Truth(result_->front()));
    return in_body_;
  }

  OpKernelContext& ctx_;
  const FunctionRuntime::Handle cond_, body_;
  const FunctionRuntime::RunOptions options_;
  Tensors values_;
  bool in_body_ = false;
  absl::StatusOr<Tensors> result_;
  std::atomic<int> phase_{kLaunching};
  AsyncOpKernel::DoneCallback done_;
};

// body(i, values) for i = start, start + delta, … before limit.
class ForRun : public std::enable_shared_from_this<ForRun> {
 public:
  ForRun(OpKernelContext& ctx, FunctionRuntime::Handle body, int64_t start, int64_t limit, int64_t delta,
         AsyncOpKernel::DoneCallback done)
      : ctx_(ctx),
        body_(body),
        i_(start),
        limit_(limit),
        delta_(delta),
        options_(function_call::OptionsFor(ctx)),
        values_(function_call::Inputs(ctx, 3)),
        done_(std::move(done)) {}

  void Run() {
    while (HasNext()) {
      phase_.store(kLaunching, std::memory_order_relaxed);
      Tensors args = std::exchange(values_, {});
      args.insert(args.begin(), Tensor::Scalar<int32_t>(static_cast<int32_t>(i_)));
      ctx_.step().functions->RunAsync(body_, options_, std::move(args),
                                      [self = shared_from_this()](absl::StatusOr<Tensors> values) {
                                        self->result_ = std::move(values);
                                        if (self->phase_.exchange(kDone) == kReturned && self->Take()) self->Run();
                                      });
      if (phase_.exchange(kReturned) != kDone || !Take()) return;
    }
    done_(SetOutputs(ctx_, std::move(values_)));
  }

 private:
  enum Phase { kLaunching, kReturned, kDone };

  bool HasNext() const { return delta_ > 0 ? i_ < limit_ : delta_ < 0 && i_ > limit_; }

  // False if the loop has failed.
  bool Take() {
    if (absl::Status status = TakeResult(); !status.ok()) {
      done_(std::move(status));
      return false;
    }
    return true;
  }

  // The last results are checked as the node's outputs.
  absl::Status TakeResult() {
    RETURN_IF_ERROR(result_.status());
    RETURN_IF_ERROR(CheckCancelled(ctx_));
    values_ = *std::move(result_);
    i_ += delta_;
    const int results = static_cast<int>(values_.size());
    if (results > ctx_.num_outputs() && HasNext()) {
      return errors::InvalidArgument("For loop body returned ", results, " arguments. Expected: ", ctx_.num_outputs());
    }
    if (results != ctx_.num_outputs()) return SetOutputs(ctx_, std::move(values_));
    for (int i = 0; HasNext() && i < results; ++i) {
      if (values_[i].dtype() == ctx_.expected_output_dtype(i)) continue;
      return errors::InvalidArgument("Expects arg[", i + 1, "] to be ", DataTypeName(ctx_.expected_output_dtype(i)),
                                     " but ", DataTypeName(values_[i].dtype()), " is provided");
    }
    return absl::OkStatus();
  }

  OpKernelContext& ctx_;
  const FunctionRuntime::Handle body_;
  int64_t i_;
  const int64_t limit_, delta_;
  const FunctionRuntime::RunOptions options_;
  Tensors values_;
  absl::StatusOr<Tensors> result_;
  std::atomic<int> phase_{kLaunching};
  AsyncOpKernel::DoneCallback done_;
};

class ForKernel : public AsyncOpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(body_, InstantiateAttr(ctx, "body"));
    return absl::OkStatus();
  }
  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) override {
    if (ctx.step().functions == nullptr) return done(errors::Internal("The step has no function library"));
    int64_t bounds[3];
    for (int i = 0; i < 3; ++i) {
      const Tensor bound = ctx.locked_input(i);
      static constexpr const char* kNames[] = {"start", "limit", "delta"};
      if (bound.dims() != 0) {
        return done(errors::InvalidArgument(kNames[i], " must be a scalar, but ", bound.shape().ToString()));
      }
      if (bound.dtype() != DT_INT32) {
        return done(errors::InvalidArgument(kNames[i], " must be int32, not ", DataTypeName(bound.dtype())));
      }
      bounds[i] = bound.scalar<int32_t>();
    }
    const auto [start, limit, delta] = bounds;
    if (delta > 0 ? start > limit : delta < 0 ? start < limit : start != limit) {
      return done(errors::InvalidArgument("Invalid start/limit/delta: ", start, " ", limit, " ", delta));
    }
    std::make_shared<ForRun>(ctx, body_, start, limit, delta, std::move(done))->Run();
  }

 private:
  FunctionRuntime::Handle body_ = 0;
};

class WhileKernel : public AsyncOpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(cond_, InstantiateAttr(ctx, "cond"));
    ASSIGN_OR_RETURN(body_, InstantiateAttr(ctx, "body"));
    return absl::OkStatus();
  }
  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) override {
    if (ctx.step().functions == nullptr) return done(errors::Internal("The step has no function library"));
    std::make_shared<WhileRun>(ctx, cond_, body_, std::move(done))->Run();
  }

 private:
  FunctionRuntime::Handle cond_ = 0, body_ = 0;
};

}  // namespace

absl::Status RegisterFunctionLoopKernels(KernelRegistry& kernels) {
  for (const char* op : {"While", "StatelessWhile"}) {
    RETURN_IF_ERROR(kernels.Register<WhileKernel>(Kernel(op).Cpu()));
  }
  return kernels.Register<ForKernel>(Kernel("For").Cpu());
}

}  // namespace weir
