// Slice and StridedSlice, their gradient, and assignments to slices.
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
  return absl::OkStatus();
}

}  // namespace weir
