#include <cuda_runtime.h>

#include "core/gpu/affine_testing.h"

namespace weir {
namespace {

__global__ void Affine(AffineArgs args) {
  const int64_t stride = int64_t{blockDim.x} * gridDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < args.count; i += stride) {
    for (int round = 0; round < args.rounds; ++round) args.data[i] = args.data[i] * args.factor + args.addend;
  }
}

}  // namespace

int LaunchCudaAffine(void* stream, const void* args) {
  Affine<<<4, 256, 0, static_cast<cudaStream_t>(stream)>>>(*static_cast<const AffineArgs*>(args));
  return static_cast<int>(cudaGetLastError());
}

}  // namespace weir
