// Tensors rearranged, repeated and joined.
#include <algorithm>

#include "core/index_tensor.h"
#include "kernels/array/family.h"
#include "kernels/array/moving/args_move.h"
#include "kernels/array/moving/args_reverse.h"
#include "kernels/device/broadcast_steps.h"
#include "kernels/device/dense_steps.h"
#include "kernels/device/gpu/body_kernel.h"
#include "kernels/device/gpu/strided_source.h"
#include "kernels/elementwise/gpu_elementwise.h"

namespace weir {
namespace {

class TransposeKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    const DataType type = ctx.input_types()[0];
    if (ctx.op() != "ConjugateTranspose" || !IsComplex(type)) return absl::OkStatus();
    ASSIGN_OR_RETURN(conjugate_, FindElementwise("Conj", type));
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const DimVector perm, ReadPermutation(ctx.input(1), input.dims()));
    const DimVector dense = DenseSteps(input.shape().dim_sizes());
    DimVector sizes, steps;
    for (const int64_t from : perm) {
      sizes.push_back(input.dim_size(static_cast<int>(from)));
      steps.push_back(dense[from]);
    }
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build(sizes));
    RETURN_IF_ERROR(CopyStrided(ctx, stream, 0, {.input = input, .steps = steps, .sizes = sizes, .shape = shape}));
    if (!conjugate_.has_value() || input.NumElements() == 0) return absl::OkStatus();
    const Tensor& output = *ctx.mutable_output(0);
    void* const data = ctx.mutable_output(0)->raw_data();
    return stream.LaunchWith(*conjugate_, ElementwiseArgs{.x = data, .out = data, .count = output.NumElements()},
                             {WriteOf(output)});
  }
  std::optional<GpuKernel> conjugate_;
};

class TileKernel : public GpuOpKernel {
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const DimVector multiples, ReadMultiples(ctx.input(1), input.shape()));
    const DimVector dense = DenseSteps(input.shape().dim_sizes());
    DimVector sizes, steps, all;  // a repeated dimension is two
    for (int i = 0; i < input.dims(); ++i) {
      all.push_back(MultiplyWithoutOverflow(input.dim_size(i), multiples[i]));
      if (all.back() < 0) return errors::InvalidArgument("Dimension ", i, " of the output is too large");
      sizes.push_back(multiples[i]);
      steps.push_back(0);
      sizes.push_back(input.dim_size(i));
      steps.push_back(dense[i]);
    }
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build(all));
    return CopyStrided(ctx, stream, 0, {.input = input, .steps = steps, .sizes = sizes, .shape = shape});
  }
};

// A bool for each dimension (Reverse) or a list of axes (ReverseV2).
class ReverseKernel : public GpuOpKernel {
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const std::vector<bool> is_reversed, ReadReversedAxes(ctx.input(1), input.shape()));
    StridedSource source{.input = input,
                         .steps = DenseSteps(input.shape().dim_sizes()),
                         .sizes = DimVector(input.shape().dim_sizes().begin(), input.shape().dim_sizes().end()),
                         .shape = input.shape()};
    for (int i = 0; i < input.dims(); ++i) {
      if (!is_reversed[i]) continue;
      source.offset += (input.dim_size(i) - 1) * source.steps[i];
      source.steps[i] = -source.steps[i];
    }
    return CopyStrided(ctx, stream, 0, source);
  }
};

class BroadcastToKernel : public GpuOpKernel {
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const TensorShape target, ReadShape(ctx.input(1)));
    ASSIGN_OR_RETURN(const DimVector steps, BroadcastSteps(input.shape(), target));
    return CopyStrided(ctx, stream, 0,
                       {.input = input,
                        .steps = steps,
                        .sizes = DimVector(target.dim_sizes().begin(), target.dim_sizes().end()),
                        .shape = target});
  }
};

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

absl::Status RegisterGpuMoveKernels(KernelRegistry& kernels) {
  const auto kernel = [](const char* op) { return Kernel(op).Device(kDeviceGpu).Types("T", kGpuMoved); };
  RETURN_IF_ERROR(kernels.Register<TransposeKernel>(kernel("Transpose").HostMemory("perm")));
  RETURN_IF_ERROR(kernels.Register<TransposeKernel>(kernel("ConjugateTranspose").HostMemory("perm")));
  RETURN_IF_ERROR(kernels.Register<TileKernel>(kernel("Tile").HostMemory("multiples")));
  RETURN_IF_ERROR(kernels.Register<ReverseKernel>(kernel("Reverse").HostMemory("dims")));
  RETURN_IF_ERROR(kernels.Register<ReverseKernel>(kernel("ReverseV2").HostMemory("axis")));
  RETURN_IF_ERROR(kernels.Register<BroadcastToKernel>(kernel("BroadcastTo").HostMemory("shape")));
  RETURN_IF_ERROR(kernels.Register<ConcatKernel>(kernel("ConcatV2").HostMemory("axis")));
  return kernels.Register<ConcatKernel>(kernel("Concat").HostMemory("concat_dim"));
}

}  // namespace weir
