// Tensors of one value, and of another type.
#include "core/index_tensor.h"
#include "kernels/array/family.h"
#include "kernels/device/gpu/body_kernel.h"
#include "kernels/elementwise/cast/args_bitcast.h"

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

// The input's memory, but where that is not aligned for a wider type.
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

absl::Status FillWith(GpuStream& stream, const GpuKernel& kernel, const Tensor& value, Tensor* output) {
  if (output->NumElements() == 0) return absl::OkStatus();
  return stream.LaunchWith(
      kernel, FillArgs{.value = value.raw_data(), .out = output->raw_data(), .count = output->NumElements()},
      {ReadOf(value), WriteOf(*output)});
}

class FillKernel : public GpuOpKernel {
 protected:
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(kernel_, FindMove("Fill", ctx.input_types()[1]));
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& dims = ctx.input(0);
    const Tensor& value = ctx.input(1);
    if (dims.dims() != 1) {
      return errors::InvalidArgument("dims must represent a vector, got shape ", dims.shape().ToString());
    }
    if (value.dims() != 0) {
      return errors::InvalidArgument("value must represent a scalar, got shape ", value.shape().ToString());
    }
    ASSIGN_OR_RETURN(const DimVector sizes, ReadIntegers(dims));
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build(sizes));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    return FillWith(stream, kernel_, value, output);
  }

 private:
  GpuKernel kernel_;
};

// ZerosLike and OnesLike.
class LikeKernel : public GpuOpKernel {
 protected:
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    const int constant = ctx.op() == "OnesLike" ? 1 : 0;
    constant_ = ValueOf(ctx.input_types()[0], constant, constant);
    ASSIGN_OR_RETURN(kernel_, FindMove("Fill", ctx.input_types()[0]));
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, ctx.input(0).shape()));
    if (output->NumElements() == 0) return absl::OkStatus();
    return stream.LaunchWith(kernel_,
                             FillArgs{.constant = constant_, .out = output->raw_data(), .count = output->NumElements()},
                             {WriteOf(*output)});
  }

 private:
  PlainValue constant_;
  GpuKernel kernel_;
};

}  // namespace

absl::Status RegisterGpuFillKernels(KernelRegistry& kernels) {
  DataTypeVector cast(std::begin(kGpuMoved), std::end(kGpuMoved));
  cast.push_back(DT_INT32);
  RETURN_IF_ERROR(
      kernels.Register<CastKernel>(Kernel("Cast").Device(kDeviceGpu).Types("SrcT", cast).Types("DstT", cast)));
  RETURN_IF_ERROR(kernels.Register<BitcastKernel>(Kernel("Bitcast").Device(kDeviceGpu)));
  RETURN_IF_ERROR(
      kernels.Register<FillKernel>(Kernel("Fill").Device(kDeviceGpu).Types("T", kGpuMoved).HostMemory("dims")));
  for (const char* op : {"ZerosLike", "OnesLike"}) {
    RETURN_IF_ERROR(kernels.Register<LikeKernel>(Kernel(op).Device(kDeviceGpu).Types("T", kGpuMoved)));
  }
  return absl::OkStatus();
}

}  // namespace weir
