// AddN, Range, LinSpace, ApproximateEqual, Bitcast and CheckNumerics.
#include <cmath>
#include <complex>

#include "core/index_tensor.h"
#include "core/numeric_types.h"
#include "kernels/device/elements.h"
#include "kernels/elementwise/binary_functors.h"
#include "kernels/elementwise/cast/args_bitcast.h"
#include "kernels/elementwise/cpu_elementwise.h"
#include "kernels/elementwise/family.h"

namespace weir {
namespace {

BinaryLoop FindAdd(DataType type) {
  switch (type) {
#define WEIR_ADD(T, Element) \
  case DataTypeOf<T>():      \
    return &BinaryLoopOf<functor::Add, Element, Element>;
    WEIR_ADD(float, float)
    WEIR_ADD(double, double)
    WEIR_ADD(complex64, complex64)
    WEIR_ADD(complex128, complex128)
#define WEIR_INTEGER_ADD(T) WEIR_ADD(T, std::make_unsigned_t<T>)
    WEIR_FOR_INTEGERS(WEIR_INTEGER_ADD)
#undef WEIR_INTEGER_ADD
#undef WEIR_ADD
    case DT_HALF:
      return &BinaryLoop16<half, half, &BinaryLoopOf<functor::Add, float, float>>;
    case DT_BFLOAT16:
      return &BinaryLoop16<bfloat16, bfloat16, &BinaryLoopOf<functor::Add, float, float>>;
    default:
      return nullptr;
  }
}

// AddN; and AccumulateNV2, whose attribute tells a shape ahead of its inputs.
class AddNKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    add_ = FindAdd(ctx.input_types()[0]);
    name_ = ctx.name();
    accumulates_ = ctx.op() == "AccumulateNV2";
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const TensorShape shape = ctx.input(0).shape();
    for (int i = 1; i < ctx.num_inputs(); ++i) {
      if (ctx.input(i).shape() == shape) continue;
      if (accumulates_) return errors::InvalidArgument("Parameters and update must be the same size");
      return errors::InvalidArgument("Inputs to operation ", name_,
                                     " of type AddN must have the same size and shape.  Input 0: ", shape.ToString(),
                                     " != input ", i, ": ", ctx.input(i).shape().ToString());
    }
    if (ctx.num_inputs() == 1) {
      ctx.set_output(0, ctx.input(0));
      return absl::OkStatus();
    }
    absl::InlinedVector<const char*, 8> inputs;
    for (int i = 0; i < ctx.num_inputs(); ++i) inputs.push_back(static_cast<const char*>(ctx.input(i).raw_data()));
    ASSIGN_OR_RETURN(Tensor * output, ctx.forward_input_or_allocate_output({0}, 0, shape));
    const int64_t size = DataTypeSize(output->dtype());
    char* out = static_cast<char*>(output->raw_data());
    ParallelRanges(ctx, shape.num_elements(), 300 * ctx.num_inputs(), [&](int64_t begin, int64_t end) {
      // By blocks, so that the running sum stays in the cache.
      constexpr int64_t kBlock = 4096;
      for (int64_t i = begin; i < end; i += kBlock) {
        const int64_t count = std::min(kBlock, end - i), at = i * size;
        add_(inputs[0] + at, 1, inputs[1] + at, 1, out + at, count);
        for (size_t k = 2; k < inputs.size(); ++k) add_(out + at, 1, inputs[k] + at, 1, out + at, count);
      }
    });
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }

 private:
  std::string name_;
  bool accumulates_ = false;
  BinaryLoop add_ = nullptr;
};

// How many values start, start + delta … lie before limit.
template <typename T>
absl::StatusOr<int64_t> RangeSize(T start, T limit, T delta) {
  if (delta == T(0)) return errors::InvalidArgument("Requires delta != 0: ", delta);
  if (delta > T(0) && start > limit) {
    return errors::InvalidArgument("Requires start <= limit when delta > 0: ", start, "/", limit);
  }
  if (delta < T(0) && start < limit) {
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

class ApproximateEqualKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("tolerance", &tolerance_); }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    const Tensor& y = ctx.input(1);
    if (x.shape() != y.shape()) {
      return errors::InvalidArgument("x and y must be of the same shape. x shape: ", x.shape().ToString(),
                                     ". y shape: ", y.shape().ToString());
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, x.shape()));
    if (x.dtype() == DT_FLOAT) {
      Compare(x.flat<float>(), y.data<float>(), output->data<bool>());
    } else {
      Compare(x.flat<double>(), y.data<double>(), output->data<bool>());
    }
    return absl::OkStatus();
  }

 private:
  template <typename T>
  void Compare(absl::Span<const T> x, const T* y, bool* out) const {
    for (size_t i = 0; i < x.size(); ++i) out[i] = std::abs(x[i] - y[i]) < static_cast<T>(tolerance_);
  }
  float tolerance_ = 0;
};

class BitcastKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    const DataType to = ctx.expected_output_dtype(0);
    ASSIGN_OR_RETURN(const TensorShape shape, BitcastShape(input, to));
    // A slice of another tensor need not be aligned for a wider type.
    if (reinterpret_cast<uintptr_t>(input.raw_data()) % DataTypeSize(to) != 0) {
      ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
      std::copy_n(static_cast<const char*>(input.raw_data()), input.TotalBytes(),
                  static_cast<char*>(output->raw_data()));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor output, input.Bitcasted(to, shape));
    ctx.set_output(0, std::move(output));
    return absl::OkStatus();
  }
};

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

}  // namespace

absl::Status RegisterMiscellaneousMathKernels(KernelRegistry& kernels) {
  static constexpr DataType kNumbers[] = {
#define WEIR_TYPE(T) DataTypeOf<T>(),
      WEIR_FOR_NUMBERS(WEIR_TYPE)
#undef WEIR_TYPE
  };
  RETURN_IF_ERROR(kernels.Register<AddNKernel>(Kernel("AddN").Cpu().Types("T", kNumbers)));
  RETURN_IF_ERROR(kernels.Register<AddNKernel>(Kernel("AccumulateNV2").Cpu().Types("T", kNumbers)));
  const DataTypeVector range_types = {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT32, DT_INT64};
  RETURN_IF_ERROR(kernels.Register<RangeKernel>(
      Kernel("Range").Cpu().Types("Tidx", range_types).HostMemory("start").HostMemory("limit").HostMemory("delta")));
  RETURN_IF_ERROR(kernels.Register<LinSpaceKernel>(Kernel("LinSpace")
                                                       .Cpu()
                                                       .Types("T", {DT_FLOAT, DT_DOUBLE})
                                                       .HostMemory("start")
                                                       .HostMemory("stop")
                                                       .HostMemory("num")));
  RETURN_IF_ERROR(
      kernels.Register<ApproximateEqualKernel>(Kernel("ApproximateEqual").Cpu().Types("T", {DT_FLOAT, DT_DOUBLE})));
  RETURN_IF_ERROR(kernels.Register<BitcastKernel>(Kernel("Bitcast").Cpu()));
  return kernels.Register<CheckNumericsKernel>(
      Kernel("CheckNumerics").Cpu().Types("T", {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16}));
}

}  // namespace weir
