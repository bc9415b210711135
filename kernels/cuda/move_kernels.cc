// Tensors rearranged, cut and joined.
#include <algorithm>

#include "absl/strings/str_join.h"
#include "core/dense_steps.h"
#include "core/index_tensor.h"
#include "core/slice_bounds.h"
#include "kernels/cuda/body_kernel.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/gpu_variable.h"

namespace weir {
namespace {

class MoveKernel : public GpuOpKernel {
 protected:
  // Copies into an output of `shape` what `steps`, from `offset` on, find in `input`.
  static absl::Status Copy(OpKernelContext& ctx, GpuStream& stream, const Tensor& input, int64_t offset,
                           absl::Span<const int64_t> steps, const TensorShape& shape) {
    ASSIGN_OR_RETURN(const GpuKernel kernel, FindMove("Strided", input.dtype()));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    StridedArgs args{.in = input.raw_data(), .out = output->raw_data(), .offset = offset};
    ASSIGN_OR_RETURN(args.layout, LayoutOf(shape.dim_sizes(), steps));
    args.count = output->NumElements();
    return stream.LaunchWith(kernel, args, {ReadOf(input), WriteOf(*output)});
  }
};

class TransposeKernel : public MoveKernel {
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const DimVector perm, ReadIntegers(ctx.input(1)));
    if (ctx.input(1).dims() != 1 || static_cast<int>(perm.size()) != input.dims()) {
      return errors::InvalidArgument("transpose expects a vector of size ", input.dims(),
                                     ". But input(1) is a tensor of shape ", ctx.input(1).shape().ToString());
    }
    const DimVector dense = DenseSteps(input.shape().dim_sizes());
    std::vector<bool> seen(perm.size(), false);
    DimVector sizes, steps;
    for (const int64_t from : perm) {
      const std::optional<int> axis = AxisOf(from, input.dims());
      if (!axis || seen[*axis]) {
        return errors::InvalidArgument("{", absl::StrJoin(perm, ", "), "} is not a permutation of the ", input.dims(),
                                       " dimensions");
      }
      seen[*axis] = true;
      sizes.push_back(input.dim_size(*axis));
      steps.push_back(dense[*axis]);
    }
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build(sizes));
    return Copy(ctx, stream, input, 0, steps, shape);
  }
};

class SliceKernel : public MoveKernel {
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const SliceBounds bounds, SliceBounds::Of(input.shape(), ctx.input(1), ctx.input(2)));
    const DimVector dense = DenseSteps(input.shape().dim_sizes());
    int64_t offset = 0;
    for (int i = 0; i < input.dims(); ++i) offset += bounds.begin[i] * dense[i];
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build(bounds.size));
    return Copy(ctx, stream, input, offset, dense, shape);
  }
};

class TileKernel : public MoveKernel {
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& input = ctx.input(0);
    if (ctx.input(1).dims() != 1 || ctx.input(1).NumElements() != input.dims()) {
      return errors::InvalidArgument("Expected multiples argument to be a vector of length ", input.dims(),
                                     " but got shape ", ctx.input(1).shape().ToString());
    }
    ASSIGN_OR_RETURN(const DimVector multiples, ReadIntegers(ctx.input(1)));
    const DimVector dense = DenseSteps(input.shape().dim_sizes());
    DimVector sizes, steps, all;  // a repeated dimension is two
    for (int i = 0; i < input.dims(); ++i) {
      if (multiples[i] < 0) {
        return errors::InvalidArgument("Expected multiples[", i, "] >= 0, but got ", multiples[i]);
      }
      all.push_back(multiples[i] * input.dim_size(i));
      sizes.push_back(multiples[i]);
      steps.push_back(0);
      sizes.push_back(input.dim_size(i));
      steps.push_back(dense[i]);
    }
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build(all));
    ASSIGN_OR_RETURN(const GpuKernel kernel, FindMove("Strided", input.dtype()));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    StridedArgs args{.in = input.raw_data(), .out = output->raw_data()};
    ASSIGN_OR_RETURN(args.layout, LayoutOf(sizes, steps));
    args.count = output->NumElements();
    return stream.LaunchWith(kernel, args, {ReadOf(input), WriteOf(*output)});
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

// Gathers without batch dimensions.
class GatherKernel : public GpuOpKernel {
 protected:
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    int64_t batch_dims = 0;
    if (ctx.HasAttr("batch_dims")) RETURN_IF_ERROR(ctx.GetAttr("batch_dims", &batch_dims));
    if (batch_dims != 0) {
      return errors::Unimplemented("There is no GPU kernel for ", ctx.op(), " with batch_dims=", batch_dims);
    }
    ASSIGN_OR_RETURN(kernel_, FindMove("Gather", ctx.output_types()[0]));
    return absl::OkStatus();
  }

  absl::Status Gather(OpKernelContext& ctx, GpuStream& stream, const Tensor& params, int64_t axis_value) const {
    const Tensor& indices = ctx.input(1);
    if (params.dims() < 1) return errors::InvalidArgument("params must be at least 1 dimensional");
    const int rank = params.dims();
    const std::optional<int> axis = AxisOf(axis_value, rank);
    if (!axis) {
      return errors::InvalidArgument("Expected axis in the range [", -rank, ", ", rank, "), but got ", axis_value);
    }
    DimVector sizes;
    for (int i = 0; i < *axis; ++i) sizes.push_back(params.dim_size(i));
    for (int i = 0; i < indices.dims(); ++i) sizes.push_back(indices.dim_size(i));
    for (int i = *axis + 1; i < rank; ++i) sizes.push_back(params.dim_size(i));
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build(sizes));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    return stream.LaunchWith(kernel_,
                             GatherArgs{.in = params.raw_data(),
                                        .indices = indices.raw_data(),
                                        .wide_indices = indices.dtype() == DT_INT64,
                                        .out = output->raw_data(),
                                        .inner = CountBehind(params.shape(), *axis),
                                        .num_indices = indices.NumElements(),
                                        .size = params.dim_size(*axis),
                                        .count = output->NumElements()},
                             {ReadOf(params), ReadOf(indices), WriteOf(*output)});
  }

 private:
  GpuKernel kernel_;
};

// Gather and GatherV2.
class TensorGatherKernel : public GatherKernel {
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    int64_t axis = 0;
    if (ctx.num_inputs() > 2) {
      if (ctx.input(2).dims() != 0) return errors::InvalidArgument("axis must be scalar");
      ASSIGN_OR_RETURN(const DimVector value, ReadIntegers(ctx.input(2)));
      axis = value[0];
    }
    return Gather(ctx, stream, ctx.input(0), axis);
  }
};

class ResourceGatherKernel : public GatherKernel {
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    ASSIGN_OR_RETURN(LockedGpuVariable variable, LockedGpuVariable::Lock(ctx, 0, ctx.expected_output_dtype(0)));
    return Gather(ctx, stream, variable.value(), 0);
  }
};

}  // namespace

absl::Status RegisterGpuMoveKernels(KernelRegistry& kernels) {
  const auto kernel = [](const char* op) { return Kernel(op).Device(kDeviceGpu).Types("T", kGpuMoved); };
  RETURN_IF_ERROR(kernels.Register<TransposeKernel>(kernel("Transpose").HostMemory("perm")));
  RETURN_IF_ERROR(kernels.Register<SliceKernel>(kernel("Slice").HostMemory("begin").HostMemory("size")));
  RETURN_IF_ERROR(kernels.Register<TileKernel>(kernel("Tile").HostMemory("multiples")));
  RETURN_IF_ERROR(kernels.Register<ConcatKernel>(kernel("ConcatV2").HostMemory("axis")));
  RETURN_IF_ERROR(kernels.Register<ConcatKernel>(kernel("Concat").HostMemory("concat_dim")));
  const auto gather = [](const char* op) {
    return Kernel(op).Device(kDeviceGpu).Types("Tparams", kGpuMoved).Types("Tindices", {DT_INT32, DT_INT64});
  };
  RETURN_IF_ERROR(kernels.Register<TensorGatherKernel>(gather("Gather")));
  RETURN_IF_ERROR(kernels.Register<TensorGatherKernel>(gather("GatherV2").HostMemory("axis")));
  return kernels.Register<ResourceGatherKernel>(Kernel("ResourceGather")
                                                    .Device(kDeviceGpu)
                                                    .Types("dtype", kGpuMoved)
                                                    .Types("Tindices", {DT_INT32, DT_INT64})
                                                    .HostMemory("resource"));
}

}  // namespace weir
