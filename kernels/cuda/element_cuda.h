// How a GPU's code loads elements for computing, and stores them: 16-bit floats are computed with as float. For nvcc.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace weir {
namespace {

template <typename T>
struct ElementOf {
  static __device__ T Load(const void* data, int64_t i) { return static_cast<const T*>(data)[i]; }
  static __device__ void Store(void* data, int64_t i, T value) { static_cast<T*>(data)[i] = value; }
};
template <typename Tag>
struct Element;
struct Float;
struct Double;
struct Int32;
struct Int64;
struct Bool;
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
struct Element<Bool> : ElementOf<bool> {};
template <>
struct Element<Half> {
  static __device__ float Load(const void* data, int64_t i) {
    return __half2float(static_cast<const __half*>(data)[i]);
  }
  static __device__ void Store(void* data, int64_t i, float value) {
    static_cast<__half*>(data)[i] = __float2half_rn(value);
  }
};
template <>
struct Element<Bfloat16> {
  static __device__ float Load(const void* data, int64_t i) {
    return __bfloat162float(static_cast<const __nv_bfloat16*>(data)[i]);
  }
  static __device__ void Store(void* data, int64_t i, float value) {
    static_cast<__nv_bfloat16*>(data)[i] = __float2bfloat16_rn(value);
  }
};

}  // namespace
}  // namespace weir
