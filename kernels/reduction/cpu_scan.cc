// Cumsum and Cumprod.
#include <complex>

#include "core/tensor/index_tensor.h"
#include "kernels/device/rounded_folds.h"
#include "kernels/reduction/cpu_reduction.h"
#include "kernels/reduction/family.h"

namespace weir {
namespace {

// Running totals down the n rows of `columns` elements that lie `stride` apart; from the last row up where `reverse`.
struct ScanArgs {
  const void* in;
  void* out;
  int64_t offset, n, stride, columns;
  bool exclusive, reverse;
};
using ScanLoop = void (*)(const ScanArgs& args);

template <typename T, bool kProduct>
void Scan(const ScanArgs& a) {
  using Value = typename ReductionValue<T>::type;
  using Sum = std::conditional_t<std::is_integral_v<Value>, uint64_t, Value>;
  Value buffer[reduction_internal::kChunk], result[reduction_internal::kChunk];
  Sum total[reduction_internal::kChunk];
  std::fill_n(total, a.columns, Sum(kProduct ? 1 : 0));
  for (int64_t j = 0; j < a.n; ++j) {
    const int64_t at = a.offset + (a.reverse ? a.n - 1 - j : j) * a.stride;
    const Value* x = reduction_internal::Load<T>(a.in, at, a.columns, buffer);
    if (a.exclusive) std::transform(total, total + a.columns, result, [](Sum sum) { return static_cast<Value>(sum); });
    for (int64_t c = 0; c < a.columns; ++c) {
      total[c] = kProduct ? total[c] * static_cast<Sum>(x[c]) : total[c] + static_cast<Sum>(x[c]);
    }
    // As TensorFlow rounds.
    if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>) RoundTo<T>(total, a.columns);
    if (!a.exclusive) std::transform(total, total + a.columns, result, [](Sum sum) { return static_cast<Value>(sum); });
    reduction_internal::Store<T>(result, a.out, at, a.columns);
  }
}

template <bool kProduct>
ScanLoop FindScan(DataType type) {
  switch (type) {
#define WEIR_SCAN(T)    \
  case DataTypeOf<T>(): \
    return &Scan<T, kProduct>;
    WEIR_FOR_FLOATS(WEIR_SCAN)
    WEIR_FOR_COMPLEX(WEIR_SCAN)
#undef WEIR_SCAN
#define WEIR_INTEGER_SCAN(T) \
  case DataTypeOf<T>():      \
    return &Scan<std::make_unsigned_t<T>, kProduct>;
    WEIR_FOR_INTEGERS(WEIR_INTEGER_SCAN)
#undef WEIR_INTEGER_SCAN
    default:
      return nullptr;
  }
}

template <bool kProduct>
class ScanKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("exclusive", &exclusive_));
    RETURN_IF_ERROR(ctx.GetAttr("reverse", &reverse_));
    loop_ = FindScan<kProduct>(ctx.input_types()[0]);
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    const TensorShape& shape = input.shape();
    if (ctx.input(1).dims() != 0) {
      return errors::InvalidArgument("ScanOp: axis must be a scalar, not ", ctx.input(1).shape().ToString());
    }
    ASSIGN_OR_RETURN(int64_t axis, ReadInteger(ctx.input(1), "axis"));
    if (axis < -shape.dims() || axis >= shape.dims()) {
      return errors::InvalidArgument("ScanOp: Expected scan axis in the range [", -shape.dims(), ", ", shape.dims(),
                                     "), but got ", axis);
    }
    if (axis < 0) axis += shape.dims();
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    int64_t inner = 1;
    for (int d = static_cast<int>(axis) + 1; d < shape.dims(); ++d) inner *= shape.dim_size(d);
    const int64_t n = shape.dim_size(static_cast<int>(axis)), outer = input.NumElements() / (n * inner);
    constexpr int64_t kChunk = reduction_internal::kChunk;
    const int64_t chunks = (inner + kChunk - 1) / kChunk;
    ParallelRanges(ctx, outer * chunks, n * std::min(inner, kChunk) * 1000, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % chunks * kChunk;
        loop_({input.raw_data(), output->raw_data(), i / chunks * n * inner + first, n, inner,
               std::min(kChunk, inner - first), exclusive_, reverse_});
      }
    });
    return absl::OkStatus();
  }

 private:
  bool exclusive_ = false, reverse_ = false;
  ScanLoop loop_ = nullptr;
};

}  // namespace

absl::Status RegisterScanKernels(KernelRegistry& kernels) {
  static constexpr DataType kTypes[] = {
#define WEIR_TYPE(T) DataTypeOf<T>(),
      WEIR_FOR_NUMBERS(WEIR_TYPE)
#undef WEIR_TYPE
  };
  RETURN_IF_ERROR(kernels.Register<ScanKernel<false>>(Kernel("Cumsum").Cpu().Types("T", kTypes).HostMemory("axis")));
  return kernels.Register<ScanKernel<true>>(Kernel("Cumprod").Cpu().Types("T", kTypes).HostMemory("axis"));
}

}  // namespace weir
