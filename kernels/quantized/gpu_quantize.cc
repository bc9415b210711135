// QuantizeAndDequantize and its gradient. A given range lies in host memory, as in TensorFlow, which looks at it.
#include "core/tensor/numeric_types.h"
#include "kernels/array/moving/device.h"
#include "kernels/device/gpu/body_kernel.h"
#include "kernels/quantized/args.h"
#include "kernels/quantized/family.h"

namespace weir {
namespace {

template <typename T>
absl::Status CheckOrder(const Tensor& lows, const Tensor& highs) {
  using Wide = AccumulatorT<T>;
  for (int64_t i = 0; i < lows.NumElements(); ++i) {
    const Wide low = static_cast<Wide>(lows.data<T>()[i]), high = static_cast<Wide>(highs.data<T>()[i]);
    if (low > high) return errors::InvalidArgument("Invalid range: input_min ", low, " > input_max ", high);
  }
  return absl::OkStatus();
}

absl::Status CheckOrder(const Tensor& lows, const Tensor& highs) {
  switch (lows.dtype()) {
    case DT_DOUBLE:
      return CheckOrder<double>(lows, highs);
    case DT_HALF:
      return CheckOrder<half>(lows, highs);
    case DT_BFLOAT16:
      return CheckOrder<bfloat16>(lows, highs);
    default:
      return CheckOrder<float>(lows, highs);
  }
}

class QuantizeKernel : public GpuOpKernel {
 public:
  // What a step gives as range goes to the device beside the stream.
  bool CanBeCaptured() const override { return false; }

 protected:
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(attrs_.Read(ctx));
    const DataType type = ctx.input_types()[0];
    ASSIGN_OR_RETURN(least_, FindBody("Min", type));
    ASSIGN_OR_RETURN(most_, FindBody("Max", type));
    ASSIGN_OR_RETURN(kernel_, FindBody("Quantize", type));
    return absl::OkStatus();
  }

  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const int64_t bits, attrs_.Bits(ctx));
    ASSIGN_OR_RETURN(const QuantizedSlices slices, QuantizedSlices::Of(input.shape(), attrs_.axis));
    if (attrs_.range_given) {
      RETURN_IF_ERROR(CheckQuantizedRange(ctx.input(1), slices, attrs_.axis != -1, "input_min"));
      RETURN_IF_ERROR(CheckQuantizedRange(ctx.input(2), slices, attrs_.axis != -1, "input_max"));
    }
    if (input.NumElements() == 0) return ctx.allocate_output(0, input.shape()).status();
    Tensor lows, highs;
    if (attrs_.range_given) {
      RETURN_IF_ERROR(CheckOrder(ctx.input(1), ctx.input(2)));
      ASSIGN_OR_RETURN(lows, gpu().ToDevice(ctx.input(1)));
      ASSIGN_OR_RETURN(highs, gpu().ToDevice(ctx.input(2)));
    } else {
      ASSIGN_OR_RETURN(lows, RangeEnd(ctx, stream, least_, input, slices));
      ASSIGN_OR_RETURN(highs, RangeEnd(ctx, stream, most_, input, slices));
    }
    ASSIGN_OR_RETURN(const Tensor* output, ctx.allocate_output(0, input.shape()));
    return stream.LaunchWith(kernel_,
                             QuantizeArgs{.x = input.raw_data(),
                                          .lows = lows.raw_data(),
                                          .highs = highs.raw_data(),
                                          .bits = bits,
                                          .is_signed = attrs_.is_signed,
                                          .narrow = attrs_.narrow,
                                          .clamps = attrs_.range_given,
                                          .half_up = attrs_.half_up,
                                          .out = output->raw_data(),
                                          .axis = slices.axis,
                                          .inner = slices.inner,
                                          .count = input.NumElements()},
                             {ReadOf(input), ReadOf(lows), ReadOf(highs), WriteOf(*output)});
  }

 private:
  static absl::StatusOr<Tensor> RangeEnd(const OpKernelContext& ctx, GpuStream& stream, const GpuKernel& fold,
                                         const Tensor& input, const QuantizedSlices& slices) {
    ASSIGN_OR_RETURN(const Tensor end, ctx.allocate_temp(input.dtype(), TensorShape({slices.axis})));
    FoldArgs args{
        .in = input.raw_data(), .out = end.raw_data(), .length = slices.outer * slices.inner, .count = slices.axis};
    ASSIGN_OR_RETURN(args.kept, LayoutOf({slices.axis}, {slices.inner}));
    ASSIGN_OR_RETURN(args.folded, LayoutOf({slices.outer, slices.inner}, {slices.axis * slices.inner, 1}));
    RETURN_IF_ERROR(stream.LaunchWith(fold, args, {ReadOf(input), WriteOf(end)}));
    return end;
  }

  QuantizeAttrs attrs_;
  GpuKernel kernel_, least_, most_;
};

class QuantizeGradKernel : public GpuOpKernel {
 protected:
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("axis", &axis_));
    ASSIGN_OR_RETURN(kernel_, FindBody("QuantizeGrad", ctx.input_types()[0]));
    return absl::OkStatus();
  }

  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    ASSIGN_OR_RETURN(const QuantizedSlices slices, CheckQuantizeGrad(ctx, axis_));
    const Tensor &gradient = ctx.input(0), &input = ctx.input(1), &lows = ctx.input(2), &highs = ctx.input(3);
    for (const int i : {1, 2}) {
      ASSIGN_OR_RETURN(const Tensor* zeros, ctx.allocate_output(i, ctx.input(1 + i).shape()));
      const size_t bytes = static_cast<size_t>(zeros->TotalBytes());
      if (bytes > 0) RETURN_IF_ERROR(stream.Fill(zeros->raw_data(), 0, bytes));
    }
    ASSIGN_OR_RETURN(const Tensor* output, ctx.allocate_output(0, input.shape()));
    if (input.NumElements() == 0) return absl::OkStatus();
    return stream.LaunchWith(kernel_,
                             QuantizeArgs{.x = input.raw_data(),
                                          .gradient = gradient.raw_data(),
                                          .lows = lows.raw_data(),
                                          .highs = highs.raw_data(),
                                          .out = output->raw_data(),
                                          .axis = slices.axis,
                                          .inner = slices.inner,
                                          .count = input.NumElements()},
                             {ReadOf(gradient), ReadOf(input), ReadOf(lows), ReadOf(highs), WriteOf(*output)});
  }

 private:
  int64_t axis_ = -1;
  GpuKernel kernel_;
};

}  // namespace

absl::Status RegisterGpuQuantizeKernels(KernelRegistry& kernels) {
  const auto kernel = [](const char* op) { return Kernel(op).Device(kDeviceGpu).Types("T", kGpuFloats); };
  const auto ranged = [&](const char* op) { return kernel(op).HostMemory("input_min").HostMemory("input_max"); };
  RETURN_IF_ERROR(kernels.Register<QuantizeKernel>(ranged("QuantizeAndDequantizeV2")));
  RETURN_IF_ERROR(kernels.Register<QuantizeKernel>(ranged("QuantizeAndDequantizeV3").HostMemory("num_bits")));
  RETURN_IF_ERROR(kernels.Register<QuantizeKernel>(ranged("QuantizeAndDequantizeV4")));
  return kernels.Register<QuantizeGradKernel>(kernel("QuantizeAndDequantizeV4Grad"));
}

}  // namespace weir
