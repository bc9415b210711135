// ArgMax and ArgMin.
#include <algorithm>
#include <limits>

#include "core/tensor/index_tensor.h"
#include "kernels/device/elements.h"
#include "kernels/reduction/cpu_reduction.h"
#include "kernels/reduction/family.h"

namespace weir {
namespace {

// The first index at which a row of n elements is extreme. The extreme value is found in pieces, without the indices;
// its first place is then looked for from the piece on that had it first.
template <typename T, bool kMax>
int64_t FindExtremeOfRow(const void* data, int64_t n) {
  using Value = typename ReductionValue<T>::type;
  using Limits = std::numeric_limits<Value>;
  constexpr int64_t kChunk = reduction_internal::kChunk;
  constexpr int kLanes = 32;
  constexpr auto kBetter = [](Value a, Value b) { return kMax ? a > b : a < b; };  // never for a NaN
  Value start = kMax ? Limits::lowest() : Limits::max();
  if constexpr (Limits::has_infinity) start = kMax ? -Limits::infinity() : Limits::infinity();
  Value buffer[kChunk], extreme = start;
  int64_t piece = 0;
  for (int64_t first = 0; first < n; first += kChunk) {
    const int64_t count = std::min(kChunk, n - first);
    const Value* const x = reduction_internal::Load<T>(data, first, count, buffer);
    Value lanes[kLanes];
    std::fill_n(lanes, kLanes, start);
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      for (int lane = 0; lane < kLanes; ++lane) {
        lanes[lane] = kBetter(x[i + lane], lanes[lane]) ? x[i + lane] : lanes[lane];
      }
    }
    for (; i < count; ++i) lanes[0] = kBetter(x[i], lanes[0]) ? x[i] : lanes[0];
    for (int width = kLanes / 2; width > 0; width /= 2) {
      for (int lane = 0; lane < width; ++lane) {
        if (kBetter(lanes[lane + width], lanes[lane])) lanes[lane] = lanes[lane + width];
      }
    }
    if (kBetter(lanes[0], extreme)) {
      extreme = lanes[0];
      piece = first;
    }
  }
  for (int64_t first = piece; first < n; first += kChunk) {
    const int64_t count = std::min(kChunk, n - first);
    const Value* const x = reduction_internal::Load<T>(data, first, count, buffer);
    const int64_t at = std::find(x, x + count, extreme) - x;
    if (at < count) return first + at;
  }
  return 0;  // nothing but NaN
}

// best[i] = the first index j at which x[j, i] is extreme, over [n, inner] elements.
template <typename T, bool kMax>
void FindExtremes(const void* data, int64_t n, int64_t inner, int64_t* best) {
  if (inner == 1) {
    *best = FindExtremeOfRow<T, kMax>(data, n);
    return;
  }
  using Value = typename ReductionValue<T>::type;
  constexpr int64_t kChunk = reduction_internal::kChunk;
  Value buffer[kChunk], extreme[kChunk];
  for (int64_t first = 0; first < inner; first += kChunk) {
    const int64_t columns = std::min(kChunk, inner - first);
    int64_t* at = best + first;
    std::fill_n(at, columns, 0);
    for (int64_t j = 0; j < n; ++j) {
      const Value* x = reduction_internal::Load<T>(data, j * inner + first, columns, buffer);
      for (int64_t i = 0; i < columns; ++i) {
        // A NaN in front gives way to any number.
        if (j == 0 || (kMax ? x[i] > extreme[i] : x[i] < extreme[i]) || (extreme[i] != extreme[i] && x[i] == x[i])) {
          extreme[i] = x[i];
          at[i] = j;
        }
      }
    }
  }
}

using ExtremeLoop = void (*)(const void* data, int64_t n, int64_t inner, int64_t* best);

template <bool kMax>
ExtremeLoop FindLoop(DataType type) {
  switch (type) {
#define WEIR_EXTREME(T) \
  case DataTypeOf<T>(): \
    return &FindExtremes<T, kMax>;
    WEIR_FOR_REALS(WEIR_EXTREME)
#undef WEIR_EXTREME
    case DT_BOOL:
      return &FindExtremes<uint8_t, kMax>;
    default:
      return nullptr;
  }
}

template <bool kMax>
class ArgKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    loop_ = FindLoop<kMax>(ctx.input_types()[0]);
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    const TensorShape& shape = input.shape();
    if (ctx.input(1).dims() != 0) {
      return errors::InvalidArgument("dim must be a scalar, but received tensor of shape: ",
                                     ctx.input(1).shape().ToString());
    }
    ASSIGN_OR_RETURN(int64_t axis, ReadInteger(ctx.input(1), "dimension"));
    if (axis < -shape.dims() || axis >= shape.dims()) {
      return errors::InvalidArgument("Expected dimension in the range [", -shape.dims(), ", ", shape.dims(),
                                     "), but got ", axis);
    }
    if (axis < 0) axis += shape.dims();
    const int64_t n = shape.dim_size(static_cast<int>(axis));
    if (n == 0) {
      return errors::InvalidArgument("Reduction axis ", axis, " is empty in shape ", shape.ToString());
    }
    TensorShape out_shape = shape;
    out_shape.RemoveDim(static_cast<int>(axis));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, out_shape));
    int64_t inner = 1;
    for (int d = static_cast<int>(axis) + 1; d < shape.dims(); ++d) inner *= shape.dim_size(d);
    if (output->NumElements() == 0) return absl::OkStatus();
    const int64_t outer = output->NumElements() / inner;
    DimVector best(output->NumElements());
    const char* data = static_cast<const char*>(input.raw_data());
    const int64_t block = n * inner * static_cast<int64_t>(DataTypeSize(input.dtype()));
    ParallelRanges(ctx, outer, n * inner * (inner == 1 ? 200 : 1000), [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) loop_(data + o * block, n, inner, best.data() + o * inner);
    });
    if (output->dtype() == DT_UINT16) {
      for (size_t i = 0; i < best.size(); ++i) output->data<uint16_t>()[i] = static_cast<uint16_t>(best[i]);
      return absl::OkStatus();
    }
    return WriteIntegers(best, output);
  }

 private:
  ExtremeLoop loop_ = nullptr;
};

}  // namespace

absl::Status RegisterArgKernels(KernelRegistry& kernels) {
  const DataTypeVector types = {DT_FLOAT, DT_DOUBLE, DT_HALF,   DT_BFLOAT16, DT_INT8,   DT_INT16, DT_INT32,
                                DT_INT64, DT_UINT8,  DT_UINT16, DT_UINT32,   DT_UINT64, DT_BOOL};
  RETURN_IF_ERROR(kernels.Register<ArgKernel<true>>(Kernel("ArgMax").Cpu().Types("T", types).HostMemory("dimension")));
  return kernels.Register<ArgKernel<false>>(Kernel("ArgMin").Cpu().Types("T", types).HostMemory("dimension"));
}

}  // namespace weir
