// Places of extremes (ArgMax, ArgMin) and running totals (Cumsum, Cumprod).
#include "core/tensor/index_tensor.h"
#include "kernels/device/gpu/body_kernel.h"
#include "kernels/reduction/device_order.h"
#include "kernels/reduction/family.h"

namespace weir {
namespace {

class ArgKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(kernel_, FindBody(ctx.op(), ctx.input_types()[0], ctx.output_types()[0]));
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& input = ctx.input(0);
    if (ctx.input(1).dims() != 0) {
      return errors::InvalidArgument("dim must be a scalar, but received tensor of shape: ",
                                     ctx.input(1).shape().ToString());
    }
    ASSIGN_OR_RETURN(const int64_t value, ReadInteger(ctx.input(1), "dimension"));
    const int rank = input.dims();
    const std::optional<int> axis = AxisOf(value, rank);
    if (!axis) {
      return errors::InvalidArgument("Expected dimension in the range [", -rank, ", ", rank, "), but got ", value);
    }
    const int64_t length = input.dim_size(*axis);
    if (length == 0) {
      return errors::InvalidArgument("Reduction axis ", *axis, " is empty in shape ", input.shape().ToString());
    }
    TensorShape shape = input.shape();
    shape.RemoveDim(*axis);
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    return stream.LaunchWith(kernel_,
                             ArgArgs{.in = input.raw_data(),
                                     .out = output->raw_data(),
                                     .length = length,
                                     .inner = CountBehind(input.shape(), *axis),
                                     .count = output->NumElements()},
                             {ReadOf(input), WriteOf(*output)});
  }
  GpuKernel kernel_;
};

class ScanKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("exclusive", &exclusive_));
    RETURN_IF_ERROR(ctx.GetAttr("reverse", &reverse_));
    ASSIGN_OR_RETURN(block_each_, FindBody(ctx.op(), ctx.input_types()[0]));
    ASSIGN_OR_RETURN(thread_each_, FindBody("Serial" + ctx.op(), ctx.input_types()[0]));
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    // Beyond, a thread for each scan keeps the device busy, and reads beside its neighbours.
    constexpr int64_t kManyScans = 4096;
    const Tensor& input = ctx.input(0);
    const int rank = input.dims();
    if (ctx.input(1).dims() != 0) {
      return errors::InvalidArgument("ScanOp: axis must be a scalar, not ", ctx.input(1).shape().ToString());
    }
    ASSIGN_OR_RETURN(const int64_t value, ReadInteger(ctx.input(1), "axis"));
    const std::optional<int> axis = AxisOf(value, rank);
    if (!axis) {
      return errors::InvalidArgument("ScanOp: Expected scan axis in the range [", -rank, ", ", rank, "), but got ",
                                     value);
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, input.shape()));
    if (output->NumElements() == 0) return absl::OkStatus();
    const int64_t length = input.dim_size(*axis), inner = CountBehind(input.shape(), *axis);
    const int64_t scans = input.NumElements() / length;
    return stream.LaunchWith(inner > 1 && scans >= kManyScans ? thread_each_ : block_each_,
                             ScanArgs{.in = input.raw_data(),
                                      .out = output->raw_data(),
                                      .exclusive = exclusive_,
                                      .reverse = reverse_,
                                      .length = length,
                                      .inner = inner,
                                      .count = scans},
                             {ReadOf(input), WriteOf(*output)});
  }
  bool exclusive_ = false, reverse_ = false;
  GpuKernel block_each_, thread_each_;
};

}  // namespace

absl::Status RegisterGpuOrderKernels(KernelRegistry& kernels) {
  constexpr DataType kNumbers[] = {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT64};
  constexpr DataType kIndices[] = {DT_INT32, DT_INT64};
  const auto kernel = [&](const char* op) { return Kernel(op).Device(kDeviceGpu).Types("T", kNumbers); };
  for (const char* op : {"ArgMax", "ArgMin"}) {
    RETURN_IF_ERROR(kernels.Register<ArgKernel>(kernel(op).Types("output_type", kIndices).HostMemory("dimension")));
  }
  for (const char* op : {"Cumsum", "Cumprod"}) {
    RETURN_IF_ERROR(kernels.Register<ScanKernel>(kernel(op).HostMemory("axis")));
  }
  return absl::OkStatus();
}

}  // namespace weir
