// Bincount and DenseBincount.
#include "core/tensor/index_tensor.h"
#include "kernels/counting/family.h"
#include "kernels/device/gpu/body_kernel.h"
#include "kernels/indexing/args_partition.h"
#include "kernels/indexing/device.h"

namespace weir {
namespace {

// Bincount, and DenseBincount, which counts each row of a matrix separately.
class BincountKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    is_dense_ = ctx.op() == "DenseBincount";
    if (is_dense_) RETURN_IF_ERROR(ctx.GetAttr("binary_output", &is_binary_));
    ASSIGN_OR_RETURN(kernel_, FindBody("Bincount", ctx.output_types()[0]));
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& values = ctx.input(0);
    const Tensor& weights = ctx.input(2);
    ASSIGN_OR_RETURN(const int64_t bins, is_dense_ ? CheckDense(ctx) : Check(ctx));
    const bool has_rows = is_dense_ && values.dims() == 2;
    TensorShape shape({bins});
    if (has_rows) RETURN_IF_ERROR(shape.InsertDim(0, values.dim_size(0)));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    RETURN_IF_ERROR(stream.Fill(output->raw_data(), 0, static_cast<size_t>(output->TotalBytes())));
    if (values.NumElements() == 0) return absl::OkStatus();
    return stream.LaunchWith(kernel_,
                             BincountArgs{.values = values.raw_data(),
                                          .wide_values = values.dtype() == DT_INT64,
                                          .weights = weights.NumElements() == 0 ? nullptr : weights.raw_data(),
                                          .binary = is_binary_,
                                          .out = output->raw_data(),
                                          .columns = has_rows ? values.dim_size(1) : values.NumElements(),
                                          .bins = bins,
                                          .count = values.NumElements()},
                             {ReadOf(values), ReadOf(weights), WriteOf(*output)});
  }
  static absl::StatusOr<int64_t> Check(OpKernelContext& ctx) {
    ASSIGN_OR_RETURN(const int64_t bins, ReadScalarInteger(ctx.input(1), "size"));
    if (bins < 0) return errors::InvalidArgument("size (", bins, ") must be non-negative");
    const int64_t weights = ctx.input(2).NumElements();
    if (weights == 0 || weights == ctx.input(0).NumElements()) return bins;
    return errors::InvalidArgument("Input indices and weights must have the same size.");
  }
  static absl::StatusOr<int64_t> CheckDense(OpKernelContext& ctx) {
    const TensorShape& values = ctx.input(0).shape();
    const TensorShape& weights = ctx.input(2).shape();
    if (ctx.input(1).dims() != 0) {
      return errors::InvalidArgument("Shape must be rank 0 but is rank ", ctx.input(1).dims());
    }
    ASSIGN_OR_RETURN(const int64_t bins, ReadInteger(ctx.input(1), "size"));
    if (bins < 0) return errors::InvalidArgument("size (", bins, ") must be non-negative");
    if (values.dims() > 2) return errors::InvalidArgument("Shape must be at most rank 2 but is rank ", values.dims());
    if (weights == values || weights.num_elements() == 0) return bins;
    return errors::InvalidArgument(
        "`weights` must be the same shape as `arr` or a length-0 `Tensor`, in which case it acts as all weights "
        "equal to 1. Received ",
        weights.ToString());
  }
  bool is_dense_ = false, is_binary_ = false;
  GpuKernel kernel_;
};

}  // namespace

absl::Status RegisterGpuBincountKernels(KernelRegistry& kernels) {
  const auto kernel = [](const std::string& op) { return Kernel(op).Device(kDeviceGpu); };
  const DataTypeVector counted = {DT_FLOAT, DT_DOUBLE, DT_INT32, DT_INT64};
  for (const char* op : {"Bincount", "DenseBincount"}) {
    RETURN_IF_ERROR(kernels.Register<BincountKernel>(kernel(op).Types("T", counted).HostMemory("size")));
  }
  return absl::OkStatus();
}

}  // namespace weir
