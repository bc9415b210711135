// What the products' kernels on GPUs and their library agree on.
#pragma once

#include <cstdint>

#include "kernels/cuda/elementwise_args.h"

namespace weir {

// c[m,n] = op(a) op(b), row-major, of k multiplications for each element; op transposes or does nothing. No size is 0.
// `batch` products, at most INT32_MAX: the operands of one lie that many elements behind those of the one before, and
// results one behind the other.
struct MatMulArgs {
  ElementType type;
  bool transpose_a, transpose_b;
  int64_t m, n, k;
  int64_t batch, a_step, b_step;
  const void* a;
  const void* b;
  void* c;
};

// Enqueues it on a cudaStream_t and returns a cudaError_t; null in a build without the toolkit.
using MatMulLaunch = int (*)(void* stream, const void* args);
MatMulLaunch CudaMatMul();

}  // namespace weir
