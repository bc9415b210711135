// CheckNumerics and CheckNumericsV2.
#include <cmath>

#include "kernels/debug/family.h"
#include "kernels/device/wide.h"
#include "kernels/elementwise/binary_functors.h"
#include "kernels/elementwise/cpu_elementwise.h"

namespace weir {
namespace {

class CheckNumericsKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("message", &message_); }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    ctx.set_output(0, input);
    bool infinite = false, nan = false;
    const auto check = [&](auto element) {
      using T = decltype(element);
      for (T x : input.flat<T>()) {
        const double value = static_cast<double>(x);
        infinite |= std::isinf(value);
        nan |= std::isnan(value);
      }
    };
    switch (input.dtype()) {
      case DT_FLOAT:
        check(float());
        break;
      case DT_DOUBLE:
        check(double());
        break;
      case DT_HALF:
        check(half());
        break;
      default:
        check(bfloat16());
        break;
    }
    if (!infinite && !nan) return absl::OkStatus();
    return errors::InvalidArgument(message_, " : Tensor had ",
                                   infinite && nan ? "Inf and NaN"
                                   : infinite      ? "Inf"
                                                   : "NaN",
                                   " values");
  }

 private:
  std::string message_;
};

class CheckNumericsV2Kernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("message", &message_); }
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Tensor values, ConvertTensor(ctx, ctx.input(0), DT_DOUBLE));
    bool low = false, high = false, nan = false;
    for (double x : values.flat<double>()) {
      nan = nan || std::isnan(x);
      low = low || (std::isinf(x) && x < 0);
      high = high || (std::isinf(x) && x > 0);
    }
    if (low || high || nan)
      return errors::InvalidArgument(message_, " : Tensor had ", Found(low, high, nan), " values");
    ctx.set_output(0, ctx.input(0));
    return absl::OkStatus();
  }

 private:
  static std::string Found(bool low, bool high, bool nan) {
    if (low && high && nan) return "-Inf, +Inf, and NaN";
    std::string found = low ? "-Inf" : "";
    if (high) found += low ? " and +Inf" : "+Inf";
    if (nan) found += found.empty() ? "NaN" : " and NaN";
    return found;
  }
  std::string message_;
};

}  // namespace

absl::Status RegisterCheckNumericsKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<CheckNumericsKernel>(
      Kernel("CheckNumerics").Cpu().Types("T", {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16})));
  return kernels.Register<CheckNumericsV2Kernel>(
      Kernel("CheckNumericsV2").Cpu().Types("T", {DT_BFLOAT16, DT_HALF, DT_FLOAT, DT_DOUBLE}));
}

}  // namespace weir
