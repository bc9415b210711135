// Slice, StridedSlice and its gradient.
#include "core/tensor/index_tensor.h"
#include "kernels/array/family.h"
#include "kernels/array/slicing/args_slice.h"
#include "kernels/array/slicing/args_strided_slice.h"
#include "kernels/device/elements.h"

namespace weir {
namespace {

class SliceKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    const int rank = input.dims();
    ASSIGN_OR_RETURN(const SliceBounds bounds, SliceBounds::Of(input.shape(), ctx.input(1), ctx.input(2)));
    const auto& [begin, size] = bounds;
    const DimVector dense = DenseSteps(input.shape().dim_sizes());
    int64_t start = 0;
    bool whole_rows = true;
    for (int i = 0; i < rank; ++i) {
      start += begin[i] * dense[i];
      whole_rows &= i == 0 || size[i] == input.dim_size(i);
    }
    if (rank > 0 && whole_rows) {
      ctx.set_output(0, input.Slice(begin[0], begin[0] + size[0]));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build(size));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    const auto* src =
        static_cast<const char*>(input.raw_data()) + start * static_cast<int64_t>(DataTypeSize(input.dtype()));
    StridedCopy(ctx, input.dtype(), size, src, dense, output->raw_data(), DenseSteps(size));
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }
};

class StridedSliceKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return args_.Init(ctx); }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const StridedSliceSpec spec, args_.Select(ctx, input.shape()));
    ASSIGN_OR_RETURN(const TensorShape shape, spec.output.AsTensorShape());
    if (KeepsRows(spec, input.shape())) {
      const Tensor rows = input.dims() == 0 ? input : input.Slice(spec.begin[0], spec.begin[0] + spec.size[0]);
      ASSIGN_OR_RETURN(Tensor output, rows.Reshaped(shape));
      ctx.set_output(0, std::move(output));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    const StridedSlicePlaces places(spec, input.shape());
    const auto* src =
        static_cast<const char*>(input.raw_data()) + places.start * static_cast<int64_t>(DataTypeSize(input.dtype()));
    StridedCopy(ctx, input.dtype(), spec.size, src, places.steps, output->raw_data(), DenseSteps(spec.size));
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }

 private:
  // Only whole rows of dimension 0, in order: the output can share the input's memory.
  static bool KeepsRows(const StridedSliceSpec& spec, const TensorShape& shape) {
    for (int i = 0; i < shape.dims(); ++i) {
      if (spec.size[i] == 0 || (spec.stride[i] != 1 && spec.size[i] != 1)) return false;
      if (i > 0 && spec.size[i] != shape.dim_size(i)) return false;
    }
    return true;
  }

  StridedSliceArgs args_;
};

// Zeros of the shape that input 0 holds, with dy where the slice was taken.
class StridedSliceGradKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return args_.Init(ctx); }

  absl::Status Compute(OpKernelContext& ctx) override {
    TensorShape shape;
    ASSIGN_OR_RETURN(const StridedSliceSpec spec, args_.SelectGradient(ctx, &shape));
    const Tensor& dy = ctx.input(4);
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    ZeroElements(output->dtype(), output->raw_data(), output->NumElements());
    if (dy.NumElements() == 0) return absl::OkStatus();
    const StridedSlicePlaces places(spec, shape);
    auto* dst =
        static_cast<char*>(output->raw_data()) + places.start * static_cast<int64_t>(DataTypeSize(output->dtype()));
    StridedCopy(ctx, dy.dtype(), spec.size, dy.raw_data(), DenseSteps(spec.size), dst, places.steps);
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }

 private:
  StridedSliceArgs args_;
};

}  // namespace

absl::Status RegisterSliceKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<SliceKernel>(Kernel("Slice").Cpu().HostMemory("begin").HostMemory("size")));
  RETURN_IF_ERROR(kernels.Register<StridedSliceKernel>(
      Kernel("StridedSlice").Cpu().HostMemory("begin").HostMemory("end").HostMemory("strides")));
  return kernels.Register<StridedSliceGradKernel>(
      Kernel("StridedSliceGrad").Cpu().HostMemory("shape").HostMemory("begin").HostMemory("end").HostMemory("strides"));
}

}  // namespace weir
