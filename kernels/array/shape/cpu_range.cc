// Range and LinSpace.
#include <cmath>

#include "core/tensor/index_tensor.h"
#include "kernels/array/family.h"
#include "kernels/elementwise/binary_functors.h"
#include "kernels/elementwise/cpu_elementwise.h"

namespace weir {
namespace {

// The number of values start, start + delta … before limit.
template <typename T>
absl::StatusOr<int64_t> RangeSize(T start, T limit, T delta) {
  if (delta == T(0)) return errors::InvalidArgument("Requires delta != 0: ", delta);
  if (delta > T(0) && !(start <= limit)) {
    return errors::InvalidArgument("Requires start <= limit when delta > 0: ", start, "/", limit);
  }
  if (!(delta > T(0)) && !(start >= limit)) {
    return errors::InvalidArgument("Requires start >= limit when delta < 0: ", start, "/", limit);
  }
  if constexpr (std::is_integral_v<T>) {
    const auto wide = [](T x) { return static_cast<__int128>(x); };
    const __int128 distance = wide(limit) - wide(start), step = wide(delta);
    const __int128 size = (distance + (step > 0 ? step - 1 : step + 1)) / step;
    if (size > std::numeric_limits<int64_t>::max()) {
      return errors::InvalidArgument("Requires ((limit - start) / delta) <= ", std::numeric_limits<int64_t>::max());
    }
    return static_cast<int64_t>(size);
  } else {
    const double size = std::ceil(std::abs((static_cast<double>(limit) - start) / delta));
    if (!(size <= 9223372036854774784.0)) {
      return errors::InvalidArgument("Requires ((limit - start) / delta) <= ", std::numeric_limits<int64_t>::max());
    }
    return static_cast<int64_t>(size);
  }
}

template <typename T>
absl::Status ComputeRange(OpKernelContext& ctx) {
  const T start = ctx.input(0).scalar<T>(), limit = ctx.input(1).scalar<T>(), delta = ctx.input(2).scalar<T>();
  using Number = std::conditional_t<std::is_arithmetic_v<T>, T, float>;
  const Number from = static_cast<Number>(start), step = static_cast<Number>(delta);
  ASSIGN_OR_RETURN(const int64_t size, RangeSize<Number>(from, static_cast<Number>(limit), step));
  ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, TensorShape({size})));
  T* out = output->data<T>();
  T value = start;
  for (int64_t i = 0; i < size; ++i) {
    out[i] = value;
    if constexpr (std::is_integral_v<T>) {
      value = functor::Add()(value, delta);
    } else {
      value = static_cast<T>(value + delta);
    }
  }
  return absl::OkStatus();
}

class RangeKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    static constexpr const char* kNames[] = {"start", "limit", "delta"};
    for (int i = 0; i < 3; ++i) {
      const TensorShape& shape = ctx.input(i).shape();
      if (!shape.IsScalar() && !(shape.IsVector() && shape.dim_size(0) == 1)) {
        return errors::InvalidArgument(kNames[i], " must be a scalar, not shape ", shape.ToString());
      }
    }
    switch (ctx.input(0).dtype()) {
      case DT_FLOAT:
        return ComputeRange<float>(ctx);
      case DT_DOUBLE:
        return ComputeRange<double>(ctx);
      case DT_HALF:
        return ComputeRange<half>(ctx);
      case DT_BFLOAT16:
        return ComputeRange<bfloat16>(ctx);
      case DT_INT32:
        return ComputeRange<int32_t>(ctx);
      default:
        return ComputeRange<int64_t>(ctx);
    }
  }
};

class LinSpaceKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    static constexpr const char* kNames[] = {"start", "stop", "num"};
    for (int i = 0; i < 3; ++i) {
      if (ctx.input(i).dims() != 0) {
        return errors::InvalidArgument(kNames[i], " must be a scalar, not shape ", ctx.input(i).shape().ToString());
      }
    }
    ASSIGN_OR_RETURN(const int64_t num, ReadInteger(ctx.input(2), "num"));
    if (num <= 0) return errors::InvalidArgument("Requires num > 0: ", num);
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, TensorShape({num})));
    if (output->dtype() == DT_FLOAT) {
      Fill(ctx.input(0).scalar<float>(), ctx.input(1).scalar<float>(), num, output->data<float>());
    } else {
      Fill(ctx.input(0).scalar<double>(), ctx.input(1).scalar<double>(), num, output->data<double>());
    }
    return absl::OkStatus();
  }

 private:
  template <typename T>
  static void Fill(T start, T stop, int64_t num, T* out) {
    out[0] = start;
    if (num == 1) return;
    const T step = (stop - start) / (num - 1);
    for (int64_t i = 1; i < num - 1; ++i) out[i] = start + step * i;
    out[num - 1] = stop;
  }
};

}  // namespace

absl::Status RegisterRangeKernels(KernelRegistry& kernels) {
  const DataTypeVector range_types = {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT32, DT_INT64};
  RETURN_IF_ERROR(kernels.Register<RangeKernel>(
      Kernel("Range").Cpu().Types("Tidx", range_types).HostMemory("start").HostMemory("limit").HostMemory("delta")));
  RETURN_IF_ERROR(kernels.Register<LinSpaceKernel>(Kernel("LinSpace")
                                                       .Cpu()
                                                       .Types("T", {DT_FLOAT, DT_DOUBLE})
                                                       .HostMemory("start")
                                                       .HostMemory("stop")
                                                       .HostMemory("num")));
  return absl::OkStatus();
}

}  // namespace weir
