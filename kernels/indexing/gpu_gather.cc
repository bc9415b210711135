// Gather, GatherV2, GatherNd, ResourceGather and OneHot, with indices on the device.
#include "core/tensor/index_tensor.h"
#include "kernels/array/moving/device_move.h"
#include "kernels/device/gpu/body_kernel.h"
#include "kernels/device/gpu/gpu_variable.h"
#include "kernels/indexing/args_one_hot.h"
#include "kernels/indexing/family.h"

namespace weir {
namespace {

class GatherKernel : public GpuOpKernel {
 protected:
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    if (ctx.HasAttr("batch_dims")) RETURN_IF_ERROR(ctx.GetAttr("batch_dims", &batch_dims_));
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
    ASSIGN_OR_RETURN(const int batch_dims, CheckBatch(params.shape(), indices.shape(), *axis));
    DimVector sizes;
    int64_t batch = 1, outer = 1;
    for (int i = 0; i < *axis; ++i) {
      sizes.push_back(params.dim_size(i));
      (i < batch_dims ? batch : outer) *= params.dim_size(i);
    }
    for (int i = batch_dims; i < indices.dims(); ++i) sizes.push_back(indices.dim_size(i));
    for (int i = *axis + 1; i < rank; ++i) sizes.push_back(params.dim_size(i));
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build(sizes));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    return stream.LaunchWith(kernel_,
                             GatherArgs{.in = params.raw_data(),
                                        .indices = indices.raw_data(),
                                        .wide_indices = indices.dtype() == DT_INT64,
                                        .out = output->raw_data(),
                                        .outer = outer,
                                        .inner = CountBehind(params.shape(), *axis),
                                        .num_indices = indices.NumElements() / batch,
                                        .size = params.dim_size(*axis),
                                        .count = output->NumElements()},
                             {ReadOf(params), ReadOf(indices), WriteOf(*output)});
  }
  int64_t batch_dims() const { return batch_dims_; }

 private:
  // How many dimensions of params and indices are batches.
  absl::StatusOr<int> CheckBatch(const TensorShape& params, const TensorShape& indices, int axis) const {
    const int rank = indices.dims();
    if (batch_dims_ < -rank || batch_dims_ > rank) {
      return errors::InvalidArgument("Expected batch_dims in the range [", -rank, ", ", rank, "], but got ",
                                     batch_dims_);
    }
    const int batch_dims = static_cast<int>(batch_dims_ < 0 ? batch_dims_ + rank : batch_dims_);
    if (batch_dims >= params.dims()) {
      return errors::InvalidArgument("batch_dims (", batch_dims, ") must be less than rank(params) (", params.dims(),
                                     ").");
    }
    if (axis < batch_dims) {
      return errors::InvalidArgument("batch_dims (", batch_dims, ") must be less than or equal to axis (", axis, ").");
    }
    for (int i = 0; i < batch_dims; ++i) {
      if (params.dim_size(i) == indices.dim_size(i)) continue;
      return errors::InvalidArgument("params.shape[", i, "]: ", params.dim_size(i),
                                     " should be equal to indices.shape[", i, "]: ", indices.dim_size(i));
    }
    return batch_dims;
  }

  int64_t batch_dims_ = 0;
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
    // Behind the batches.
    const int64_t axis = batch_dims() < 0 ? batch_dims() + ctx.input(1).dims() : batch_dims();
    return Gather(ctx, stream, variable.value(), axis);
  }
};

// GatherNd, and ResourceGatherNd, of a variable.
class GatherNdKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(CheckBadIndicesPolicy(ctx));
    ASSIGN_OR_RETURN(kernel_, FindMove("GatherNd", ctx.output_types()[0]));
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    if (ctx.input(0).dtype() != DT_RESOURCE) return Gather(ctx, stream, ctx.input(0));
    ASSIGN_OR_RETURN(LockedGpuVariable variable, LockedGpuVariable::Lock(ctx, 0, ctx.expected_output_dtype(0)));
    return Gather(ctx, stream, variable.value());
  }
  absl::Status Gather(OpKernelContext& ctx, GpuStream& stream, const Tensor& params) const {
    const Tensor& indices = ctx.input(1);
    if (indices.dims() < 1) return errors::InvalidArgument("indices must be at least a vector");
    if (params.dims() < 1) return errors::InvalidArgument("params must be at least a vector");
    const int64_t depth = indices.dim_size(indices.dims() - 1);
    if (depth > params.dims()) {
      return errors::InvalidArgument("index innermost dimension length must be <= params rank; saw: ", depth, " vs. ",
                                     params.dims());
    }
    if (depth > kMaxBodyRank) {
      return errors::Unimplemented("There is no GPU kernel for GatherNd with ", depth, " coordinates; at most ",
                                   kMaxBodyRank);
    }
    TensorShape shape = indices.shape();
    shape.RemoveDim(indices.dims() - 1);
    const TensorShape slice(params.shape().dim_sizes().subspan(depth));
    RETURN_IF_ERROR(shape.Append(slice));
    if (params.NumElements() == 0 && shape.num_elements() > 0) {
      return errors::InvalidArgument("Requested more than 0 entries, but params is empty.  Params shape: ",
                                     params.shape().ToString());
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    GatherNdArgs args{.in = params.raw_data(),
                      .indices = indices.raw_data(),
                      .wide_indices = indices.dtype() == DT_INT64,
                      .out = output->raw_data(),
                      .depth = static_cast<int>(depth),
                      .width = slice.num_elements(),
                      .count = output->NumElements()};
    for (int d = 0; d < args.depth; ++d) args.sizes[d] = params.dim_size(d);
    return stream.LaunchWith(kernel_, args, {ReadOf(params), ReadOf(indices), WriteOf(*output)});
  }
  GpuKernel kernel_;
};

class OneHotKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("axis", &axis_));
    ASSIGN_OR_RETURN(kernel_, FindMove("OneHot", ctx.output_types()[0]));
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& indices = ctx.input(0);
    ASSIGN_OR_RETURN(const OneHotShape hot, OneHotShape::Of(ctx, axis_));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, hot.shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    return stream.LaunchWith(kernel_,
                             OneHotArgs{.indices = indices.raw_data(),
                                        .wide_indices = indices.dtype() == DT_INT64,
                                        .on = ctx.input(2).raw_data(),
                                        .off = ctx.input(3).raw_data(),
                                        .out = output->raw_data(),
                                        .depth = hot.depth,
                                        .inner = CountBehind(hot.shape, hot.axis),
                                        .count = output->NumElements()},
                             {ReadOf(indices), ReadOf(ctx.input(2)), ReadOf(ctx.input(3)), WriteOf(*output)});
  }
  int64_t axis_ = -1;
  GpuKernel kernel_;
};

}  // namespace

absl::Status RegisterGpuGatherKernels(KernelRegistry& kernels) {
  constexpr DataType kIndices[] = {DT_INT32, DT_INT64};
  const auto gather = [&](const char* op) {
    return Kernel(op).Device(kDeviceGpu).Types("Tparams", kGpuMoved).Types("Tindices", kIndices);
  };
  RETURN_IF_ERROR(kernels.Register<TensorGatherKernel>(gather("Gather")));
  RETURN_IF_ERROR(kernels.Register<TensorGatherKernel>(gather("GatherV2").HostMemory("axis")));
  RETURN_IF_ERROR(kernels.Register<GatherNdKernel>(gather("GatherNd")));
  RETURN_IF_ERROR(kernels.Register<OneHotKernel>(
      Kernel("OneHot").Device(kDeviceGpu).Types("T", kGpuMoved).Types("TI", kIndices).HostMemory("depth")));
  RETURN_IF_ERROR(kernels.Register<GatherNdKernel>(Kernel("ResourceGatherNd")
                                                       .Device(kDeviceGpu)
                                                       .Types("dtype", kGpuMoved)
                                                       .Types("Tindices", kIndices)
                                                       .HostMemory("resource")));
  return kernels.Register<ResourceGatherKernel>(Kernel("ResourceGather")
                                                    .Device(kDeviceGpu)
                                                    .Types("dtype", kGpuMoved)
                                                    .Types("Tindices", kIndices)
                                                    .HostMemory("resource"));
}

}  // namespace weir
