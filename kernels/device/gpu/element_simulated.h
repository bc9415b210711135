// Loads and stores elements in the simulated device's code, as element_cuda.h does on GPUs.
#pragma once

#include <cstdint>

#include "core/tensor/numeric_types.h"
#include "kernels/elementwise/binary_functors.h"
#include "kernels/elementwise/complex_number.h"

namespace weir {
namespace {

template <typename T, typename Computed>
struct ElementOf {
  using Stored = T;
  static Computed Load(const void* data, int64_t i) { return static_cast<Computed>(static_cast<const T*>(data)[i]); }
  static void Store(void* data, int64_t i, Computed value) { static_cast<T*>(data)[i] = static_cast<T>(value); }
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
struct Element<Float> : ElementOf<float, float> {};
template <>
struct Element<Double> : ElementOf<double, double> {};
template <>
struct Element<Int32> : ElementOf<int32_t, int32_t> {};
template <>
struct Element<Int64> : ElementOf<int64_t, int64_t> {};
template <>
struct Element<Uint64> : ElementOf<uint64_t, uint64_t> {};
template <>
struct Element<Bool> : ElementOf<bool, bool> {};
template <>
struct Element<Complex64> : ElementOf<ComplexNumber<float>, ComplexNumber<float>> {};
template <>
struct Element<Complex128> : ElementOf<ComplexNumber<double>, ComplexNumber<double>> {};
template <>
struct Element<Half> : ElementOf<half, float> {};
template <>
struct Element<Bfloat16> : ElementOf<bfloat16, float> {};

// Puts f(x) in place of element x. A kernel of the simulated device is one thread.
template <typename Tag, typename F>
void Replace(void* data, int64_t i, F f) {
  Element<Tag>::Store(data, i, f(Element<Tag>::Load(data, i)));
}
template <typename Tag, typename V>
void AddTo(void* data, int64_t i, V value) {
  Replace<Tag>(data, i, [value](V old) { return functor::Add()(old, value); });
}

}  // namespace
}  // namespace weir
