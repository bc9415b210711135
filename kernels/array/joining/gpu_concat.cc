// Concat and ConcatV2.
#include "core/tensor/index_tensor.h"
#include "kernels/array/family.h"
#include "kernels/device/gpu/body_kernel.h"

namespace weir {
namespace {

class ConcatKernel : public GpuOpKernel {
 protected:
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    axis_first_ = ctx.op() == "Concat";
    ASSIGN_OR_RETURN(kernel_, FindMove("Concat", ctx.output_types()[0]));
    return absl::OkStatus();
  }

  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const int first = axis_first_ ? 1 : 0, count = ctx.num_inputs() - 1;
    const Tensor& axis_input = ctx.input(axis_first_ ? 0 : count);
    if (axis_input.NumElements() != 1) {
      return errors::InvalidArgument("ConcatOp : axis must be one integer, got shape ", axis_input.shape().ToString());
    }
    ASSIGN_OR_RETURN(const DimVector axis_value, ReadIntegers(axis_input));
    TensorShape shape = ctx.input(first).shape();
    const int rank = shape.dims();
    const std::optional<int> axis = AxisOf(axis_value[0], rank);
    if (!axis) {
      return errors::InvalidArgument("ConcatOp : Expected concatenating dimensions in the range [", -rank, ", ", rank,
                                     "), but got ", axis_value[0]);
    }
    int64_t length = 0;
    for (int i = 0; i < count; ++i) {
      ASSIGN_OR_RETURN(const int64_t own, LengthAlong(*axis, shape, ctx.input(first + i).shape(), i));
      if (__builtin_add_overflow(length, own, &length)) {
        return errors::InvalidArgument("ConcatOp : the output has too many elements");
      }
    }
    const int64_t inner = CountBehind(shape, *axis);
    RETURN_IF_ERROR(shape.SetDim(*axis, length));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    int64_t at = 0;
    for (int i = 0; i < count; ++i) {
      const Tensor& input = ctx.input(first + i);
      if (input.NumElements() == 0) continue;
      const int64_t width = input.dim_size(*axis) * inner;
      RETURN_IF_ERROR(stream.LaunchWith(kernel_,
                                        ConcatArgs{.in = input.raw_data(),
                                                   .out = output->raw_data(),
                                                   .in_width = width,
                                                   .out_width = length * inner,
                                                   .at = at,
                                                   .count = input.NumElements()},
                                        {ReadOf(input), WriteOf(*output)}));
      at += width;
    }
    return absl::OkStatus();
  }

 private:
  static absl::StatusOr<int64_t> LengthAlong(int axis, const TensorShape& shape, const TensorShape& other, int i) {
    if (other.dims() != shape.dims()) {
      return errors::InvalidArgument("ConcatOp : Ranks of all input tensors should match: shape[0] = ",
                                     shape.ToString(), " vs. shape[", i, "] = ", other.ToString());
    }
    for (int d = 0; d < shape.dims(); ++d) {
      if (d == axis || other.dim_size(d) == shape.dim_size(d)) continue;
      return errors::InvalidArgument("ConcatOp : Dimension ", d,
                                     " in both shapes must be equal: shape[0] = ", shape.ToString(), " vs. shape[", i,
                                     "] = ", other.ToString());
    }
    return other.dim_size(axis);
  }

  bool axis_first_ = false;
  GpuKernel kernel_;
};

}  // namespace

absl::Status RegisterGpuConcatKernels(KernelRegistry& kernels) {
  const auto kernel = [](const char* op) { return Kernel(op).Device(kDeviceGpu).Types("T", kGpuMoved); };
  RETURN_IF_ERROR(kernels.Register<ConcatKernel>(kernel("ConcatV2").HostMemory("axis")));
  return kernels.Register<ConcatKernel>(kernel("Concat").HostMemory("concat_dim"));
}

}  // namespace weir
