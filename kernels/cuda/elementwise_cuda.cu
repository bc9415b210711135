// The element-wise ops for CUDA.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "kernels/cpu/binary_functors.h"
#include "kernels/cpu/unary_functors.h"
#include "kernels/cuda/elementwise_args.h"

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
struct Int64;
struct Bool;
struct Half;
struct Bfloat16;
template <>
struct Element<Float> : ElementOf<float> {};
template <>
struct Element<Double> : ElementOf<double> {};
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

constexpr int kThreads = 256;
constexpr int64_t kMaxBlocks = 8192;  // beyond, each thread takes several elements

template <typename Body>
__global__ void Elementwise(Body body) {
  const int64_t stride = int64_t{blockDim.x} * gridDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < body.args.count; i += stride) body(i);
}

template <typename Body>
int Launch(void* stream, const void* raw) {
  const Body body{*static_cast<const ElementwiseArgs*>(raw)};
  const int64_t blocks = (body.args.count + kThreads - 1) / kThreads;
  Elementwise<<<static_cast<unsigned>(blocks < kMaxBlocks ? blocks : kMaxBlocks), kThreads, 0,
                static_cast<cudaStream_t>(stream)>>>(body);
  return static_cast<int>(cudaGetLastError());
}
#define WEIR_ELEMENTWISE_RUN(...) &Launch<__VA_ARGS__>, nullptr
#define WEIR_ELEMENTWISE_CODE __device__

}  // namespace
}  // namespace weir

#include "kernels/cuda/elementwise_table.inc"

namespace weir {

ElementwiseTable CudaElementwiseTable() {
  return {kElementwiseEntries, static_cast<int>(sizeof(kElementwiseEntries) / sizeof(kElementwiseEntries[0]))};
}

}  // namespace weir
