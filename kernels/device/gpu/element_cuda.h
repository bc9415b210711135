// Loads and stores elements in GPU code; 16-bit floats are computed with as float. For nvcc.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "kernels/elementwise/binary_functors.h"
#include "kernels/elementwise/complex_number.h"

namespace weir {
namespace {

template <typename T>
struct ElementOf {
  using Stored = T;
  static __device__ T Load(const void* data, int64_t i) { return static_cast<const T*>(data)[i]; }
  static __device__ void Store(void* data, int64_t i, T value) { static_cast<T*>(data)[i] = value; }
};
template <typename Tag>
struct Element;
struct Float;
struct Double;
struct Int32;
struct Int64;
struct Uint64;
struct Bool;
struct Complex64;
struct Complex128;
struct Half;
struct Bfloat16;
template <>
struct Element<Float> : ElementOf<float> {};
template <>
struct Element<Double> : ElementOf<double> {};
template <>
struct Element<Int32> : ElementOf<int32_t> {};
template <>
struct Element<Int64> : ElementOf<int64_t> {};
template <>
struct Element<Uint64> : ElementOf<uint64_t> {};
template <>
struct Element<Bool> : ElementOf<bool> {};
template <>
struct Element<Complex64> : ElementOf<ComplexNumber<float>> {};
template <>
struct Element<Complex128> : ElementOf<ComplexNumber<double>> {};
template <>
struct Element<Half> {
  using Stored = __half;
  static __device__ float Load(const void* data, int64_t i) {
    return __half2float(static_cast<const __half*>(data)[i]);
  }
  static __device__ void Store(void* data, int64_t i, float value) {
    static_cast<__half*>(data)[i] = __float2half_rn(value);
  }
};
template <>
struct Element<Bfloat16> {
  using Stored = __nv_bfloat16;
  static __device__ float Load(const void* data, int64_t i) {
    return __bfloat162float(static_cast<const __nv_bfloat16*>(data)[i]);
  }
  static __device__ void Store(void* data, int64_t i, float value) {
    static_cast<__nv_bfloat16*>(data)[i] = __float2bfloat16_rn(value);
  }
};

template <int kBytes>
struct WordOf;
template <>
struct WordOf<2> {
  using Type = unsigned short;
};
template <>
struct WordOf<4> {
  using Type = unsigned int;
};
template <>
struct WordOf<8> {
  using Type = unsigned long long;
};

// Puts f(x) in place of element x, whatever other threads put there at the same time.
template <typename Tag, typename F>
__device__ void Replace(void* data, int64_t i, F f) {
  using Word = typename WordOf<sizeof(typename Element<Tag>::Stored)>::Type;
  Word* const at = static_cast<Word*>(data) + i;
  Word seen = *static_cast<volatile Word*>(at);
  for (;;) {
    Word made = 0;
    Element<Tag>::Store(&made, 0, f(Element<Tag>::Load(&seen, 0)));
    const Word before = atomicCAS(at, seen, made);
    if (before == seen) return;
    seen = before;
  }
}
// The same for sums, by the device's own instructions where it has them.
template <typename Tag, typename V>
__device__ void AddTo(void* data, int64_t i, V value) {
  using Stored = typename Element<Tag>::Stored;
  if constexpr (std::is_same_v<Stored, float> || std::is_same_v<Stored, double>) {
    atomicAdd(static_cast<Stored*>(data) + i, value);
  } else {
    Replace<Tag>(data, i, [value](V old) { return functor::Add()(old, value); });
  }
}

}  // namespace
}  // namespace weir
