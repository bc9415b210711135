// Split, Pack and Unpack.
#include "kernels/array/family.h"
#include "kernels/array/joining/args_split.h"
#include "kernels/array/slicing/args_slice.h"
#include "kernels/device/dense_steps.h"
#include "kernels/device/gpu/body_kernel.h"
#include "kernels/device/gpu/strided_source.h"

namespace weir {
namespace {

DimVector SizesOf(const TensorShape& shape) { return {shape.dim_sizes().begin(), shape.dim_sizes().end()}; }

// Split, SplitV: pieces along an axis.
class SplitKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    has_lengths_ = ctx.op() == "SplitV";
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor input = ctx.input(has_lengths_ ? 0 : 1);
    SplitSizes sizes;
    if (has_lengths_) {
      ASSIGN_OR_RETURN(sizes, SplitSizes::Of(input.shape(), ctx.input(1), ctx.input(2), ctx.num_outputs()));
    } else {
      ASSIGN_OR_RETURN(sizes, SplitSizes::Equal(input.shape(), ctx.input(0), ctx.num_outputs()));
    }
    StridedSource source{.input = input,
                         .steps = DenseSteps(input.shape().dim_sizes()),
                         .sizes = SizesOf(input.shape()),
                         .shape = input.shape()};
    for (int i = 0; i < ctx.num_outputs(); ++i) {
      source.sizes[sizes.axis] = sizes.lengths[i];
      RETURN_IF_ERROR(source.shape.SetDim(sizes.axis, sizes.lengths[i]));
      RETURN_IF_ERROR(CopyStrided(ctx, stream, i, source));
      source.offset += sizes.lengths[i] * source.steps[sizes.axis];
    }
    return absl::OkStatus();
  }
  bool has_lengths_ = false;
};

class UnpackKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override { return ctx.GetAttr("axis", &axis_); }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor input = ctx.input(0);
    ASSIGN_OR_RETURN(const int axis, StackedAxis(axis_, input.dims()));
    if (input.dim_size(axis) != ctx.num_outputs()) {
      return errors::InvalidArgument("Input shape axis ", axis, " must equal ", ctx.num_outputs(), ", got shape ",
                                     input.shape().ToString());
    }
    StridedSource source{.input = input,
                         .steps = DenseSteps(input.shape().dim_sizes()),
                         .sizes = SizesOf(input.shape()),
                         .shape = input.shape()};
    const int64_t step = source.steps[axis];
    source.shape.RemoveDim(axis);
    source.sizes[axis] = 1;
    for (int i = 0; i < ctx.num_outputs(); ++i) {
      RETURN_IF_ERROR(CopyStrided(ctx, stream, i, source));
      source.offset += step;
    }
    return absl::OkStatus();
  }
  int64_t axis_ = 0;
};

class PackKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override { return ctx.GetAttr("axis", &axis_); }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const TensorShape shape = ctx.input(0).shape();
    const int count = ctx.num_inputs();
    ASSIGN_OR_RETURN(const int axis, StackedAxis(axis_, shape.dims() + 1));
    for (int i = 1; i < count; ++i) {
      if (ctx.input(i).shape() == shape) continue;
      return errors::InvalidArgument("Shapes of all inputs must match: values[0].shape = ", shape.ToString(),
                                     " != values[", i, "].shape = ", ctx.input(i).shape().ToString());
    }
    TensorShape packed = shape;
    RETURN_IF_ERROR(packed.InsertDim(axis, count));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, packed));
    StridedTarget target{.tensor = *output, .sizes = SizesOf(shape), .steps = DenseSteps(packed.dim_sizes())};
    const int64_t step = target.steps[axis];
    target.steps.erase(target.steps.begin() + axis);
    for (int i = 0; i < count; ++i) {
      RETURN_IF_ERROR(StoreStrided(stream, ctx.input(i), DenseSteps(target.sizes), target.sizes, target));
      target.offset += step;
    }
    return absl::OkStatus();
  }
  int64_t axis_ = 0;
};

}  // namespace

absl::Status RegisterGpuSplitKernels(KernelRegistry& kernels) {
  const auto kernel = [](const char* op) { return Kernel(op).Device(kDeviceGpu).Types("T", kGpuMoved); };
  RETURN_IF_ERROR(kernels.Register<SplitKernel>(kernel("Split").HostMemory("split_dim")));
  RETURN_IF_ERROR(kernels.Register<SplitKernel>(kernel("SplitV").HostMemory("size_splits").HostMemory("split_dim")));
  RETURN_IF_ERROR(kernels.Register<PackKernel>(kernel("Pack")));
  return kernels.Register<UnpackKernel>(kernel("Unpack"));
}

}  // namespace weir
