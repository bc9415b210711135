// Stochastic rounding of real numbers to integers. With equal keys and counters the results are those of TensorFlow's
// kernel compiled for vectors of eight 32-bit integers.
#include <cmath>
#include <type_traits>

#include "core/tensor/numeric_types.h"
#include "kernels/elementwise/family.h"
#include "kernels/quantized/uniform/uniform_quantized.h"
#include "kernels/random/stateless_random.h"

namespace weir {
namespace {

// Draws of one group.
void Uniform(const Philox::Group& bits, float* draws) {
  for (int i = 0; i < 4; ++i) draws[i] = UniformFloat(bits[i]);
}
void Uniform(const Philox::Group& bits, double* draws) {
  for (int i = 0; i < 2; ++i) draws[i] = UniformDouble(bits[2 * i], bits[2 * i + 1]);
}
void Uniform(const Philox::Group& bits, half* draws) {
  for (int i = 0; i < 4; ++i) draws[i] = UniformHalf(bits[i]);
}
void Uniform(const Philox::Group& bits, bfloat16* draws) {
  for (int i = 0; i < 4; ++i) draws[i] = UniformBFloat16(bits[i]);
}

// What a number is computed with.
template <typename T>
using Real = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <typename T>
T Floor(T x) {
  return static_cast<T>(std::floor(static_cast<Real<T>>(x)));
}

// Of a whole number: beyond 32 bits as processors convert; fewer bits are the low ones.
template <typename Int, typename T>
Int Integer(T x) {
  return static_cast<Int>(ToInt32(static_cast<Real<T>>(x)));
}

template <typename T, typename Int>
class Rounding {
 public:
  // Integers and numbers out of range need no draw.
  bool IsSettled(T x, T* rounded) const {
    if (std::isnan(static_cast<double>(x))) return *rounded = T(0.0f), true;
    if (x >= most_) return *rounded = most_, true;
    if (x <= least_) return *rounded = least_, true;
    *rounded = x;
    return Floor(x) == x;
  }
  static T One(T x, T draw) { return x < T(0.0f) ? Floor<T>(x + draw) : Floor<T>(x + T(1.0f) - draw); }
  // In vectors the draw is taken from 1 first.
  static T Lane(T x, T draw) { return x < T(0.0f) ? Floor<T>(x + draw) : Floor<T>(x + (T(1.0f) - draw)); }

 private:
  T most_ = static_cast<T>(std::numeric_limits<Int>::max()), least_ = static_cast<T>(std::numeric_limits<Int>::min());
};

template <typename T, typename Int>
void Cast(const T* x, int64_t n, Philox stream, Int* out) {
  constexpr bool kVectors = std::is_same_v<Int, int32_t> && (std::is_same_v<T, float> || std::is_same_v<T, double>);
  constexpr int kPerGroup = std::is_same_v<T, double> ? 2 : 4, kLanes = 2 * kPerGroup;
  const Rounding<T, Int> rounding;
  T draws[4], rounded;
  int64_t i = 0;
  // One group for all lanes of 256 bits, and as many lanes as give eight integers.
  for (; kVectors && i + 8 <= n; i += 8) {
    for (int lane = 0; lane < 8; ++lane) {
      if (lane % kLanes == 0) Uniform(stream.Next(), draws);
      const T value = x[i + lane];
      out[i + lane] =
          Integer<Int>(rounding.IsSettled(value, &rounded) ? rounded : rounding.Lane(value, draws[lane % kPerGroup]));
    }
  }
  for (; i < n; ++i) {
    if (!rounding.IsSettled(x[i], &rounded)) {
      Uniform(stream.Next(), draws);
      rounded = rounding.One(x[i], draws[0]);
    }
    out[i] = Integer<Int>(rounded);
  }
}

// Inputs: numbers, key, counter and algorithm.
template <typename T, typename Int>
class StochasticCastKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    RETURN_IF_ERROR(PhiloxFromKeyAndCounter(ctx.input(1), ctx.input(2), ctx.input(3)).status());
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, input.shape()));
    // The counter's first number is the seed, the key the stream: TensorFlow has them so.
    const Philox stream(ctx.input(2).data<uint64_t>()[0], ctx.input(1).data<uint64_t>()[0]);
    Cast(input.data<T>(), input.NumElements(), stream, output->data<Int>());
    return absl::OkStatus();
  }
};

template <typename T, typename Int>
absl::Status RegisterCast(KernelRegistry& kernels) {
  return kernels.Register<StochasticCastKernel<T, Int>>(Kernel("StochasticCastToInt")
                                                            .Cpu()
                                                            .Types("Tin", {DataTypeOf<T>()})
                                                            .Types("Tout", {DataTypeOf<Int>()})
                                                            .HostMemory("alg"));
}
template <typename T>
absl::Status RegisterCasts(KernelRegistry& kernels) {
  RETURN_IF_ERROR((RegisterCast<T, int8_t>(kernels)));
  RETURN_IF_ERROR((RegisterCast<T, int16_t>(kernels)));
  return RegisterCast<T, int32_t>(kernels);
}

}  // namespace

absl::Status RegisterStochasticCastKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(RegisterCasts<half>(kernels));
  RETURN_IF_ERROR(RegisterCasts<bfloat16>(kernels));
  RETURN_IF_ERROR(RegisterCasts<float>(kernels));
  return RegisterCasts<double>(kernels);
}

}  // namespace weir
