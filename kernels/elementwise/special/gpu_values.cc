// Functions of a few values: ClipByValue, Betainc, Cross, Bucketize, InTopK.
#include <algorithm>

#include "core/index_tensor.h"
#include "kernels/array/moving/device.h"
#include "kernels/counting/args_cross.h"
#include "kernels/device/gpu/body_kernel.h"
#include "kernels/elementwise/args_clip.h"
#include "kernels/elementwise/family.h"

namespace weir {
namespace {

// Three operands, of which scalars serve for all elements.
class TernaryKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(kernel_, FindBody(ctx.op(), ctx.input_types()[0]));
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    ASSIGN_OR_RETURN(const TensorShape shape, ShapeOf(ctx));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    TernaryArgs args{.out = output->raw_data(), .count = output->NumElements()};
    for (int i = 0; i < 3; ++i) {
      args.operands[i] = ctx.input(i).raw_data();
      args.steps[i] = ctx.input(i).dims() == 0 ? 0 : 1;
    }
    return stream.LaunchWith(kernel_, args,
                             {ReadOf(ctx.input(0)), ReadOf(ctx.input(1)), ReadOf(ctx.input(2)), WriteOf(*output)});
  }
  virtual absl::StatusOr<TensorShape> ShapeOf(OpKernelContext& ctx) const = 0;
  GpuKernel kernel_;
};

class ClipByValueKernel : public TernaryKernel {
  absl::StatusOr<TensorShape> ShapeOf(OpKernelContext& ctx) const override {
    RETURN_IF_ERROR(CheckBounds(ctx.input(0).shape(), ctx.input(1).shape(), ctx.input(2).shape()));
    return ctx.input(0).shape();
  }
};

class BetaincKernel : public TernaryKernel {
  absl::StatusOr<TensorShape> ShapeOf(OpKernelContext& ctx) const override {
    static constexpr absl::string_view kNames[] = {"a", "b", "x"};
    TensorShape shape;
    for (int i = 0; i < 3; ++i) {
      if (ctx.input(i).dims() == 0) continue;
      shape = ctx.input(i).shape();
      for (int j = 0; j < i; ++j) {
        if (ctx.input(j).dims() == 0 || ctx.input(j).shape() == shape) continue;
        return errors::InvalidArgument("Shapes of ", kNames[j], " and ", kNames[i],
                                       " are inconsistent: ", ctx.input(j).shape().ToString(), " vs. ",
                                       shape.ToString());
      }
    }
    return shape;
  }
};

class CrossKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(kernel_, FindBody("Cross", ctx.input_types()[0]));
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& a = ctx.input(0);
    const Tensor& b = ctx.input(1);
    RETURN_IF_ERROR(CheckCross(a, b));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, a.shape()));
    if (output->NumElements() == 0) return absl::OkStatus();
    return stream.LaunchWith(
        kernel_,
        CrossArgs{.a = a.raw_data(), .b = b.raw_data(), .out = output->raw_data(), .count = output->NumElements()},
        {ReadOf(a), ReadOf(b), WriteOf(*output)});
  }
  GpuKernel kernel_;
};

class BucketizeKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    std::vector<float> boundaries;
    RETURN_IF_ERROR(ctx.GetAttr("boundaries", &boundaries));
    if (!std::is_sorted(boundaries.begin(), boundaries.end())) {
      return errors::InvalidArgument("Expected sorted boundaries");
    }
    Tensor on_host(DT_FLOAT, TensorShape({static_cast<int64_t>(boundaries.size())}));
    std::copy(boundaries.begin(), boundaries.end(), on_host.data<float>());
    ASSIGN_OR_RETURN(boundaries_, gpu().ToDevice(on_host));
    ASSIGN_OR_RETURN(kernel_, FindBody("Bucketize", ctx.input_types()[0]));
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, input.shape()));
    if (output->NumElements() == 0) return absl::OkStatus();
    return stream.LaunchWith(kernel_,
                             BucketizeArgs{.in = input.raw_data(),
                                           .boundaries = boundaries_.raw_data(),
                                           .num_boundaries = boundaries_.NumElements(),
                                           .out = output->raw_data(),
                                           .count = output->NumElements()},
                             {ReadOf(input), ReadOf(boundaries_), WriteOf(*output)});
  }
  Tensor boundaries_;
  GpuKernel kernel_;
};

// InTopK, with attribute k, and InTopKV2, with an input.
class InTopKKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    if (ctx.HasAttr("k")) RETURN_IF_ERROR(ctx.GetAttr("k", &k_));
    ASSIGN_OR_RETURN(kernel_, FindBody("InTopK", DT_FLOAT));
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    int64_t k = k_;
    if (ctx.num_inputs() > 2) {
      if (ctx.input(2).dims() != 0) {
        return errors::InvalidArgument("k must be scalar, got shape ", ctx.input(2).shape().ToString());
      }
      ASSIGN_OR_RETURN(k, ReadInteger(ctx.input(2), "k"));
    }
    const Tensor& predictions = ctx.input(0);
    const Tensor& targets = ctx.input(1);
    if (predictions.dims() != 2) return errors::InvalidArgument("predictions must be 2-dimensional");
    if (targets.dims() != 1) return errors::InvalidArgument("targets must be 1-dimensional");
    const int64_t rows = predictions.dim_size(0);
    if (rows != targets.NumElements()) {
      return errors::InvalidArgument("First dimension of predictions ", rows, " must match length of targets ",
                                     targets.NumElements());
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, TensorShape({rows})));
    if (rows == 0) return absl::OkStatus();
    return stream.LaunchWith(kernel_,
                             InTopArgs{.predictions = predictions.raw_data(),
                                       .targets = targets.raw_data(),
                                       .wide_targets = targets.dtype() == DT_INT64,
                                       .k = k,
                                       .out = output->raw_data(),
                                       .classes = predictions.dim_size(1),
                                       .count = rows},
                             {ReadOf(predictions), ReadOf(targets), WriteOf(*output)});
  }
  int64_t k_ = 0;
  GpuKernel kernel_;
};

}  // namespace

absl::Status RegisterGpuValueKernels(KernelRegistry& kernels) {
  const auto kernel = [](const char* op, const DataTypeVector& types) {
    return Kernel(op).Device(kDeviceGpu).Types("T", types);
  };
  const DataTypeVector numbers = {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT64};
  RETURN_IF_ERROR(kernels.Register<ClipByValueKernel>(kernel("ClipByValue", numbers)));
  RETURN_IF_ERROR(kernels.Register<BetaincKernel>(kernel("Betainc", {DT_FLOAT, DT_DOUBLE})));
  RETURN_IF_ERROR(kernels.Register<CrossKernel>(kernel("Cross", numbers)));
  RETURN_IF_ERROR(kernels.Register<BucketizeKernel>(kernel("Bucketize", {DT_FLOAT, DT_DOUBLE, DT_INT32, DT_INT64})));
  const DataTypeVector targets = {DT_INT32, DT_INT64};
  RETURN_IF_ERROR(kernels.Register<InTopKKernel>(kernel("InTopK", targets)));
  return kernels.Register<InTopKKernel>(kernel("InTopKV2", targets).HostMemory("k"));
}

}  // namespace weir
