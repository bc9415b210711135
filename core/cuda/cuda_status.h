// cudaError_t as a Status.
#pragma once

#include <cuda_runtime_api.h>

#include "core/gpu/gpu_error.h"

namespace weir {

// OK for cudaSuccess. Names and codes are those of core/gpu/gpu_error.h where it lists the error, CUDA's otherwise.
absl::Status CudaStatus(cudaError_t error, absl::string_view what);

}  // namespace weir

#define RETURN_IF_CUDA_ERROR(expr, what)                                                       \
  do {                                                                                         \
    if (const cudaError_t weir_cuda = (expr); __builtin_expect(weir_cuda != cudaSuccess, 0)) { \
      return ::weir::CudaStatus(weir_cuda, (what));                                            \
    }                                                                                          \
  } while (0)
