// The kernels of bodies.h for CUDA.

#include <cuda_runtime.h>

#include <cmath>

#include "kernels/cuda/bodies.h"
#include "kernels/cuda/element_cuda.h"

namespace weir {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kMaxBlocks = 8192;  // beyond, each thread, or block, takes several places

unsigned Blocks(int64_t wanted) { return static_cast<unsigned>(wanted < kMaxBlocks ? wanted : kMaxBlocks); }

template <typename Body>
__global__ void Each(Body body) {
  const int64_t stride = int64_t{blockDim.x} * gridDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < body.args.count; i += stride) body(i);
}

// A block for each place: its threads fold every kThreads-th element, and then fold what they have together.
template <typename Body>
__global__ void Rows(Body body) {
  using A = decltype(body.Identity());
  __shared__ A folded[kThreads];
  for (int64_t place = blockIdx.x; place < body.args.count; place += gridDim.x) {
    A own = body.Identity();
    for (int64_t j = threadIdx.x; j < body.length(); j += kThreads) own = body.Combine(own, body.Take(place, j));
    folded[threadIdx.x] = own;
    __syncthreads();
    for (int half = kThreads / 2; half > 0; half /= 2) {
      if (threadIdx.x < half) {
        folded[threadIdx.x] = body.Combine(folded[threadIdx.x], folded[threadIdx.x + half]);
      }
      __syncthreads();
    }
    if (threadIdx.x == 0) body.Finish(place, folded[0]);
    __syncthreads();
  }
}

template <typename Body>
int LaunchEach(void* stream, const void* raw) {
  const Body body{*static_cast<const decltype(Body::args)*>(raw)};
  Each<<<Blocks((body.args.count + kThreads - 1) / kThreads), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(body);
  return static_cast<int>(cudaGetLastError());
}
template <typename Body>
int LaunchRows(void* stream, const void* raw) {
  const Body body{*static_cast<const decltype(Body::args)*>(raw)};
  Rows<<<Blocks(body.args.count), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(body);
  return static_cast<int>(cudaGetLastError());
}
#define WEIR_BODY_CODE __device__
#define WEIR_EACH(...) &LaunchEach<__VA_ARGS__>, nullptr
#define WEIR_ROWS(...) &LaunchRows<__VA_ARGS__>, nullptr

}  // namespace
}  // namespace weir

#include "kernels/cuda/body_table.inc"

namespace weir {

BodyTable CudaBodies() { return {kBodyEntries, static_cast<int>(sizeof(kBodyEntries) / sizeof(kBodyEntries[0]))}; }

}  // namespace weir
