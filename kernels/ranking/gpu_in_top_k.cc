// InTopK and InTopKV2.
#include "core/tensor/index_tensor.h"
#include "kernels/array/moving/device.h"
#include "kernels/device/gpu/body_kernel.h"
#include "kernels/ranking/family.h"

namespace weir {
namespace {

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

absl::Status RegisterGpuInTopKKernels(KernelRegistry& kernels) {
  const auto kernel = [](const char* op, const DataTypeVector& types) {
    return Kernel(op).Device(kDeviceGpu).Types("T", types);
  };
  const DataTypeVector targets = {DT_INT32, DT_INT64};
  RETURN_IF_ERROR(kernels.Register<InTopKKernel>(kernel("InTopK", targets)));
  return kernels.Register<InTopKKernel>(kernel("InTopKV2", targets).HostMemory("k"));
}

}  // namespace weir
