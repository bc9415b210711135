// Tensors cut, and put into places of others: Slice, StridedSlice and its kin, Split, Pack and Unpack.
#include "core/index_tensor.h"
#include "kernels/array/family.h"
#include "kernels/array/joining/args_split.h"
#include "kernels/array/slicing/args_slice.h"
#include "kernels/array/slicing/args_strided_slice.h"
#include "kernels/device/broadcast_steps.h"
#include "kernels/device/dense_steps.h"
#include "kernels/device/gpu/body_kernel.h"
#include "kernels/device/gpu/gpu_variable.h"
#include "kernels/device/gpu/strided_source.h"

namespace weir {
namespace {

DimVector SizesOf(const TensorShape& shape) { return {shape.dim_sizes().begin(), shape.dim_sizes().end()}; }

class SliceKernel : public GpuOpKernel {
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const SliceBounds bounds, SliceBounds::Of(input.shape(), ctx.input(1), ctx.input(2)));
    StridedSource source{.input = input, .steps = DenseSteps(input.shape().dim_sizes()), .sizes = bounds.size};
    for (int i = 0; i < input.dims(); ++i) source.offset += bounds.begin[i] * source.steps[i];
    ASSIGN_OR_RETURN(source.shape, TensorShape::Build(bounds.size));
    return CopyStrided(ctx, stream, 0, source);
  }
};

class StridedSliceKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override { return args_.Init(ctx); }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const StridedSliceSpec spec, args_.Select(ctx, input.shape()));
    ASSIGN_OR_RETURN(const TensorShape shape, spec.output.AsTensorShape());
    if (shape.num_elements() == 0) return ctx.allocate_output(0, shape).status();
    const StridedSlicePlaces places(spec, input.shape());
    return CopyStrided(
        ctx, stream, 0,
        {.input = input, .offset = places.start, .steps = places.steps, .sizes = spec.size, .shape = shape});
  }
  StridedSliceArgs args_;
};

// Zeros of the shape that input 0 holds, with dy where the slice was taken.
class StridedSliceGradKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override { return args_.Init(ctx); }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    TensorShape shape;
    ASSIGN_OR_RETURN(const StridedSliceSpec spec, args_.SelectGradient(ctx, &shape));
    const Tensor& dy = ctx.input(4);
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    RETURN_IF_ERROR(stream.Fill(output->raw_data(), 0, static_cast<size_t>(output->TotalBytes())));
    if (dy.NumElements() == 0) return absl::OkStatus();
    const StridedSlicePlaces places(spec, shape);
    return StoreStrided(stream, dy, DenseSteps(spec.size), spec.size,
                        {.tensor = *output, .offset = places.start, .sizes = spec.size, .steps = places.steps});
  }
  StridedSliceArgs args_;
};

// Inputs: the variable, begin, end, strides and what is assigned.
class SliceAssignKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("T", &dtype_));
    return args_.Init(ctx);
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    RETURN_IF_ERROR(Update(ctx, stream));
    ForwardReference(ctx);
    return absl::OkStatus();
  }
  absl::Status Update(OpKernelContext& ctx, GpuStream& stream) {
    const Tensor value = ctx.input(4);
    ASSIGN_OR_RETURN(LockedGpuVariable variable, LockedGpuVariable::Lock(ctx, 0, dtype_));
    const TensorShape whole = variable.value().shape();
    ASSIGN_OR_RETURN(const StridedSliceSpec spec, args_.Select(ctx, whole));
    ASSIGN_OR_RETURN(const TensorShape shape, spec.output.AsTensorShape());
    if (shape.num_elements() == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const DimVector steps, AssignedSteps(value.shape(), shape));
    RETURN_IF_ERROR(variable.PrepareToUpdate(ctx, stream));
    const StridedSlicePlaces places(spec, whole);
    return StoreStrided(
        stream, value, steps, SizesOf(shape),
        {.tensor = variable.value(), .offset = places.start, .sizes = spec.size, .steps = places.steps});
  }
  DataType dtype_ = DT_INVALID;
  StridedSliceArgs args_;
};

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

absl::Status RegisterGpuSliceKernels(KernelRegistry& kernels) {
  const auto kernel = [](const char* op) { return Kernel(op).Device(kDeviceGpu).Types("T", kGpuMoved); };
  const auto strided = [&](const char* op) {
    return kernel(op).HostMemory("begin").HostMemory("end").HostMemory("strides");
  };
  RETURN_IF_ERROR(kernels.Register<SliceKernel>(kernel("Slice").HostMemory("begin").HostMemory("size")));
  RETURN_IF_ERROR(kernels.Register<StridedSliceKernel>(strided("StridedSlice")));
  RETURN_IF_ERROR(kernels.Register<StridedSliceGradKernel>(strided("StridedSliceGrad").HostMemory("shape")));
  RETURN_IF_ERROR(kernels.Register<SliceAssignKernel>(strided("StridedSliceAssign")));
  RETURN_IF_ERROR(kernels.Register<SliceAssignKernel>(strided("ResourceStridedSliceAssign").HostMemory("ref")));
  RETURN_IF_ERROR(kernels.Register<SplitKernel>(kernel("Split").HostMemory("split_dim")));
  RETURN_IF_ERROR(kernels.Register<SplitKernel>(kernel("SplitV").HostMemory("size_splits").HostMemory("split_dim")));
  RETURN_IF_ERROR(kernels.Register<PackKernel>(kernel("Pack")));
  return kernels.Register<UnpackKernel>(kernel("Unpack"));
}

}  // namespace weir
