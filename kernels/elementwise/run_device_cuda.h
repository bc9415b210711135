// Launches element-wise bodies on CUDA: for the files that compile a table of them with nvcc.
#pragma once

#include <cuda_runtime.h>

#include "kernels/device/gpu/element_cuda.h"
#include "kernels/elementwise/binary_functors.h"
#include "kernels/elementwise/device.h"
#include "kernels/elementwise/unary_functors.h"

namespace weir {
namespace {

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

#include "kernels/elementwise/device_bodies.inc"
