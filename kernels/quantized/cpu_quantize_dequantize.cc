// Rounding to what a few bits hold, and the gradient that passes through it.
#include <limits>

#include "kernels/device/parallel.h"
#include "kernels/device/wide.h"
#include "kernels/quantized/args.h"
#include "kernels/quantized/family.h"
#include "kernels/quantized/quantized_steps.h"

namespace weir {
namespace {

// All versions of QuantizeAndDequantize.
class QuantizeAndDequantizeKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(attrs_.Read(ctx));
    if (!ctx.HasAttr("input_min")) return absl::OkStatus();
    float low, high;
    RETURN_IF_ERROR(ctx.GetAttr("input_min", &low));
    RETURN_IF_ERROR(ctx.GetAttr("input_max", &high));
    low_ = Tensor::Scalar<float>(low);
    high_ = Tensor::Scalar<float>(high);
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const int64_t bits, attrs_.Bits(ctx));
    ASSIGN_OR_RETURN(const QuantizedSlices view, QuantizedSlices::Of(ctx.input(0).shape(), attrs_.axis));
    const bool has_inputs = ctx.num_inputs() > 1;
    const Tensor& low = has_inputs ? ctx.input(1) : low_;
    const Tensor& high = has_inputs ? ctx.input(2) : high_;
    if (attrs_.range_given) {
      RETURN_IF_ERROR(CheckQuantizedRange(low, view, attrs_.axis != -1, "input_min"));
      RETURN_IF_ERROR(CheckQuantizedRange(high, view, attrs_.axis != -1, "input_max"));
    }
    ASSIGN_OR_RETURN(const Tensor input, Widen(ctx, ctx.input(0)));
    ASSIGN_OR_RETURN(const Tensor wide_low, ConvertTensor(ctx, low, input.dtype()));
    ASSIGN_OR_RETURN(const Tensor wide_high, ConvertTensor(ctx, high, input.dtype()));
    ASSIGN_OR_RETURN(WideOutput output, WideOutput::Allocate(ctx, 0, input.shape()));
    RETURN_IF_ERROR(VisitWide(input.dtype(), [&](auto element) {
      using T = decltype(element);
      for (int64_t slice = 0; slice < view.axis && input.NumElements() > 0; ++slice) {
        T least, most;
        if (attrs_.range_given) {
          least = wide_low.data<T>()[slice];
          most = wide_high.data<T>()[slice];
          if (least > most) {
            return errors::InvalidArgument("Invalid range: input_min ", least, " > input_max ", most);
          }
        } else {
          least = std::numeric_limits<T>::infinity();
          most = -least;
          view.Each(slice, [&](int64_t i) {
            least = std::min(least, input.data<T>()[i]);
            most = std::max(most, input.data<T>()[i]);
          });
        }
        const QuantizedSteps<T> steps(least, most, bits, attrs_.is_signed, attrs_.narrow);
        view.Each(slice, [&](int64_t i) {
          output.data<T>()[i] = steps(input.data<T>()[i], attrs_.range_given, attrs_.half_up);
        });
      }
      return absl::OkStatus();
    }));
    return output.Finish(ctx);
  }

 private:
  QuantizeAttrs attrs_;
  Tensor low_ = Tensor::Scalar<float>(0), high_ = Tensor::Scalar<float>(0);
};

// The gradient where the input lay within the range; none for the range.
class QuantizeAndDequantizeGradKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("axis", &axis_); }

  absl::Status Compute(OpKernelContext& ctx) override {
    const TensorShape& shape = ctx.input(0).shape();
    ASSIGN_OR_RETURN(const QuantizedSlices view, CheckQuantizeGrad(ctx, axis_));
    Tensor wide[4];
    for (int i = 0; i < 4; ++i) {
      ASSIGN_OR_RETURN(wide[i], Widen(ctx, ctx.input(i)));
    }
    ASSIGN_OR_RETURN(WideOutput output, WideOutput::Allocate(ctx, 0, shape));
    RETURN_IF_ERROR(VisitWide(wide[0].dtype(), [&](auto element) {
      using T = decltype(element);
      for (int64_t slice = 0; slice < view.axis; ++slice) {
        const T low = wide[2].data<T>()[slice], high = wide[3].data<T>()[slice];
        view.Each(slice, [&](int64_t i) {
          const T x = wide[1].data<T>()[i];
          output.data<T>()[i] = x >= low && x <= high ? wide[0].data<T>()[i] : T(0);
        });
      }
      return absl::OkStatus();
    }));
    for (int i : {1, 2}) {
      ASSIGN_OR_RETURN(Tensor * zero, ctx.allocate_output(i, ctx.input(1 + i).shape()));
      std::fill_n(static_cast<char*>(zero->raw_data()), zero->TotalBytes(), 0);
    }
    return output.Finish(ctx);
  }

 private:
  int64_t axis_ = -1;
};

}  // namespace

absl::Status RegisterQuantizationKernels(KernelRegistry& kernels) {
  const DataTypeVector floats = {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16};
  for (const char* op :
       {"QuantizeAndDequantize", "QuantizeAndDequantizeV2", "QuantizeAndDequantizeV3", "QuantizeAndDequantizeV4"}) {
    RETURN_IF_ERROR(kernels.Register<QuantizeAndDequantizeKernel>(Kernel(op).Cpu().Types("T", floats)));
  }
  RETURN_IF_ERROR(kernels.Register<QuantizeAndDequantizeGradKernel>(
      Kernel("QuantizeAndDequantizeV4Grad").Cpu().Types("T", floats)));
  return absl::OkStatus();
}

}  // namespace weir
