// Conditional accumulators and what goes in and out of them. Taking is asynchronous.
#include "core/kernel/determinism.h"
#include "core/kernel/kernel_registry.h"
#include "core/tensor/index_tensor.h"
#include "kernels/coordination/accumulator.h"
#include "kernels/coordination/family.h"
#include "kernels/device/named_resource.h"
#include "kernels/device/resource_users.h"

namespace weir {
namespace {

class AccumulatorKernel : public ResourceKernel<ConditionalAccumulator> {
 protected:
  absl::Status Configure(OpKernelConstruction& ctx) override {
    type_name_ = ctx.op();
    options_.sparse = ctx.op() == "SparseConditionalAccumulator";
    RETURN_IF_ERROR(ctx.GetAttr("dtype", &options_.dtype));
    RETURN_IF_ERROR(ctx.GetAttr("shape", &options_.shape));
    std::string reduction;
    RETURN_IF_ERROR(ctx.GetAttr("reduction_type", &reduction));
    options_.mean = reduction == "MEAN";
    options_.deterministic = IsDeterministic(ctx.node_def());
    return absl::OkStatus();
  }
  absl::StatusOr<std::shared_ptr<ConditionalAccumulator>> Make(OpKernelContext& ctx, const std::string& name) override {
    ConditionalAccumulator::Options options = options_;
    options.name = name;
    return ConditionalAccumulator::Create(std::move(options));
  }
  absl::Status CheckMatches(const ConditionalAccumulator& other) const override {
    const ConditionalAccumulator::Options& theirs = other.options();
    if (theirs.sparse == options_.sparse && theirs.dtype == options_.dtype && theirs.shape == options_.shape &&
        theirs.mean == options_.mean) {
      return absl::OkStatus();
    }
    return errors::InvalidArgument("Shared conditional accumulator '", name(), "' has type '",
                                   DataTypeName(theirs.dtype), "' and shape ", theirs.shape.ToString(),
                                   ", which do not match those requested: '", DataTypeName(options_.dtype), "' and ",
                                   options_.shape.ToString());
  }
  std::string TypeName() const override { return type_name_; }

 private:
  std::string type_name_;
  ConditionalAccumulator::Options options_;
};

absl::StatusOr<std::shared_ptr<ConditionalAccumulator>> Find(const OpKernelContext& ctx) {
  return FindResource<ConditionalAccumulator>(ctx, 0);
}

// A step that applies a gradient, or sets the global step, may end the wait of one that takes.
absl::StatusOr<std::shared_ptr<ConditionalAccumulator>> FindToChange(const OpKernelContext& ctx) {
  ASSIGN_OR_RETURN(std::shared_ptr<ConditionalAccumulator> accumulator, Find(ctx));
  UseShared(ctx, accumulator, "accumulator", accumulator->options().name);
  return accumulator;
}

absl::StatusOr<int64_t> ScalarArgument(const OpKernelContext& ctx, int i, const char* name) {
  const Tensor& input = ctx.input(i);
  if (input.dims() == 0) return ReadInteger(input, name);
  return errors::InvalidArgument("Argument ", name, " must be scalar, but had bad shape ", input.shape().ToString());
}

// Both kinds of accumulator have the same handles: an op for the one may meet the other.
absl::Status CheckKind(const ConditionalAccumulator& accumulator, DataType dtype, bool sparse) {
  if (accumulator.options().dtype == dtype && accumulator.options().sparse == sparse) return absl::OkStatus();
  return errors::InvalidArgument(
      "Signature mismatch, have: a gradient of ", DataTypeName(dtype), " for accumulator '", accumulator.options().name,
      "' expected: ", accumulator.options().sparse ? "sparse " : "dense ", DataTypeName(accumulator.options().dtype));
}

class ApplyKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<ConditionalAccumulator> accumulator, FindToChange(ctx));
    ASSIGN_OR_RETURN(const int64_t step, ScalarArgument(ctx, 1, "local_step"));
    ConditionalAccumulator::Gradient gradient;
    gradient.values = ctx.locked_input(2);
    RETURN_IF_ERROR(CheckKind(*accumulator, gradient.values.dtype(), /*sparse=*/false));
    return accumulator->Apply(ctx, step, std::move(gradient));
  }
};

class SparseApplyKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("has_known_shape", &has_shape_); }
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<ConditionalAccumulator> accumulator, FindToChange(ctx));
    ASSIGN_OR_RETURN(const int64_t step, ScalarArgument(ctx, 1, "local_step"));
    ConditionalAccumulator::Gradient gradient;
    if (ctx.input(2).dims() != 1) {
      return errors::InvalidArgument("Input indices should be vector but received shape: ",
                                     ctx.input(2).shape().ToString());
    }
    ASSIGN_OR_RETURN(const DimVector rows, ReadIntegers(ctx.input(2)));
    gradient.rows.assign(rows.begin(), rows.end());
    gradient.values = ctx.locked_input(3);
    gradient.has_shape = has_shape_;
    if (has_shape_) {
      ASSIGN_OR_RETURN(const DimVector shape, ReadIntegers(ctx.input(4)));
      gradient.shape.assign(shape.begin(), shape.end());
    }
    RETURN_IF_ERROR(CheckKind(*accumulator, gradient.values.dtype(), /*sparse=*/true));
    return accumulator->Apply(ctx, step, std::move(gradient));
  }

 private:
  bool has_shape_ = false;
};

template <bool kSparse>
class TakeKernel : public AsyncOpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("dtype", &dtype_); }
  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) override {
    absl::StatusOr<std::shared_ptr<ConditionalAccumulator>> accumulator = Find(ctx);
    if (!accumulator.ok()) return done(accumulator.status());
    const absl::StatusOr<int64_t> required = Check(ctx, **accumulator);
    if (!required.ok()) return done(required.status());
    done = AwaitShared(ctx, *accumulator, "accumulator", (*accumulator)->options().name, std::move(done));
    (*accumulator)
        ->Take(ctx, *required, [&ctx, done = std::move(done)](absl::StatusOr<ConditionalAccumulator::Gradient> taken) {
          if (!taken.ok()) return done(taken.status());
          if (kSparse) {
            ctx.set_output(0, Tensor::Vector<int64_t>(taken->rows));
            ctx.set_output(2, Tensor::Vector<int64_t>(taken->shape));
          }
          ctx.set_output(kSparse ? 1 : 0, std::move(taken->values));
          done(absl::OkStatus());
        });
  }

 private:
  absl::StatusOr<int64_t> Check(const OpKernelContext& ctx, const ConditionalAccumulator& accumulator) const {
    RETURN_IF_ERROR(CheckKind(accumulator, dtype_, kSparse));
    ASSIGN_OR_RETURN(const int64_t required, ScalarArgument(ctx, 1, "num_required"));
    if (required > 0) return required;
    return errors::InvalidArgument("Argument num_required must be positive, but was ", required);
  }

  DataType dtype_ = DT_INVALID;
};

class SetGlobalStepKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<ConditionalAccumulator> accumulator, FindToChange(ctx));
    ASSIGN_OR_RETURN(const int64_t step, ScalarArgument(ctx, 1, "new_global_step"));
    accumulator->SetGlobalStep(step);
    return absl::OkStatus();
  }
};

class NumAccumulatedKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<ConditionalAccumulator> accumulator, Find(ctx));
    ctx.set_output(0, Tensor::Scalar(static_cast<int32_t>(accumulator->count())));
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterAccumulatorKernels(KernelRegistry& kernels) {
  const DataTypeVector types = {DT_HALF, DT_BFLOAT16, DT_FLOAT, DT_DOUBLE};
  for (const char* op : {"ConditionalAccumulator", "ResourceConditionalAccumulator", "SparseConditionalAccumulator"}) {
    RETURN_IF_ERROR(kernels.Register<AccumulatorKernel>(Kernel(op).Cpu().Types("dtype", types)));
  }
  for (const std::string prefix : {"Accumulator", "ResourceAccumulator"}) {
    const auto on = [&prefix](const char* op) { return Kernel(prefix + op).Cpu(); };
    RETURN_IF_ERROR(kernels.Register<ApplyKernel>(on("ApplyGradient").Types("dtype", types)));
    RETURN_IF_ERROR(kernels.Register<TakeKernel<false>>(on("TakeGradient").Types("dtype", types)));
    RETURN_IF_ERROR(kernels.Register<SetGlobalStepKernel>(on("SetGlobalStep")));
    RETURN_IF_ERROR(kernels.Register<NumAccumulatedKernel>(on("NumAccumulated")));
  }
  RETURN_IF_ERROR(
      kernels.Register<SparseApplyKernel>(Kernel("SparseAccumulatorApplyGradient").Cpu().Types("dtype", types)));
  return kernels.Register<TakeKernel<true>>(Kernel("SparseAccumulatorTakeGradient").Cpu().Types("dtype", types));
}

}  // namespace weir
