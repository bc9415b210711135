// Cast and Bitcast.
#include "kernels/device/gpu/body_kernel.h"
#include "kernels/elementwise/cast/args_bitcast.h"
#include "kernels/elementwise/family.h"

namespace weir {
namespace {

class CastKernel : public GpuOpKernel {
 protected:
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    bool truncate = false;
    RETURN_IF_ERROR(ctx.GetAttr("SrcT", &from_));
    RETURN_IF_ERROR(ctx.GetAttr("DstT", &to_));
    RETURN_IF_ERROR(ctx.GetAttr("Truncate", &truncate));
    if (from_ == to_) return absl::OkStatus();
    if (truncate) return errors::Unimplemented("There is no GPU kernel for ", ctx.op(), " with Truncate=true");
    absl::StatusOr<GpuKernel> kernel = FindBody("Cast", from_, to_);
    if (!kernel.ok()) kernel = FindBody("CastAny", DT_BOOL);
    ASSIGN_OR_RETURN(kernel_, std::move(kernel));
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& input = ctx.input(0);
    if (from_ == to_) {
      ctx.set_output(0, input);
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, input.shape()));
    if (input.NumElements() == 0) return absl::OkStatus();
    return stream.LaunchWith(kernel_,
                             CastArgs{.in = input.raw_data(),
                                      .out = output->raw_data(),
                                      .from = static_cast<ElementType>(from_),
                                      .to = static_cast<ElementType>(to_),
                                      .count = input.NumElements()},
                             {ReadOf(input), WriteOf(*output)});
  }

 private:
  DataType from_ = DT_INVALID, to_ = DT_INVALID;
  GpuKernel kernel_;
};

// Shares the input's memory unless it is not aligned for a wider type.
class BitcastKernel : public GpuOpKernel {
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& input = ctx.input(0);
    const DataType to = ctx.expected_output_dtype(0);
    ASSIGN_OR_RETURN(const TensorShape shape, BitcastShape(input, to));
    if (reinterpret_cast<uintptr_t>(input.raw_data()) % DataTypeSize(to) != 0) {
      ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
      return stream.CopyOnDevice(output->raw_data(), input.raw_data(), static_cast<size_t>(input.TotalBytes()));
    }
    ASSIGN_OR_RETURN(Tensor output, input.Bitcasted(to, shape));
    ctx.set_output(0, std::move(output));
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterGpuCastKernels(KernelRegistry& kernels) {
  DataTypeVector cast(std::begin(kGpuMoved), std::end(kGpuMoved));
  cast.push_back(DT_INT32);
  RETURN_IF_ERROR(
      kernels.Register<CastKernel>(Kernel("Cast").Device(kDeviceGpu).Types("SrcT", cast).Types("DstT", cast)));
  RETURN_IF_ERROR(kernels.Register<BitcastKernel>(Kernel("Bitcast").Device(kDeviceGpu)));
  return absl::OkStatus();
}

}  // namespace weir
