// The interface between the GPU kernels of matrix products and their library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/gpu/gpu_runtime.h"
#include "kernels/elementwise/device.h"

namespace weir {

// What is done to each element of a product before it is stored; the bias has one for each column.
enum class MatMulEpilogue : int { kNone, kBias, kBiasRelu };

// c[m,n] = op(a) op(b), row-major, of k multiplications for each element; op transposes, and then may conjugate, or
// does nothing. No size is 0. `batch` products, at most INT32_MAX: the operands of one lie that many elements behind
// those of the one before, and results are contiguous.
struct MatMulProblem {
  ElementType type = ElementType::kFloat;
  bool transpose_a = false, transpose_b = false;
  bool conjugates = false;  // what is transposed, of complex elements
  bool allow_tf32 = false;
  int64_t m = 0, n = 0, k = 0;
  int64_t batch = 1, a_step = 0, b_step = 0;
  MatMulEpilogue epilogue = MatMulEpilogue::kNone;
  // Of what the operands' and the product's memory begins at, in bytes: powers of two.
  uint32_t a_alignment = 1, b_alignment = 1, c_alignment = 1;
  size_t workspace_limit = 0;

  friend bool operator==(const MatMulProblem&, const MatMulProblem&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const MatMulProblem& p) {
    return H::combine(std::move(h), p.type, p.transpose_a, p.transpose_b, p.conjugates, p.allow_tf32, p.m, p.n, p.k,
                      p.batch, p.a_step, p.b_step, p.epilogue, p.a_alignment, p.b_alignment, p.c_alignment,
                      p.workspace_limit);
  }
};

// How a library computes a problem, which nobody else understands.
struct MatMulChoice {
  uint64_t algorithm[8] = {};
  size_t workspace_bytes = 0;
};

struct MatMulArgs {
  MatMulProblem problem;
  MatMulChoice choice;
  const void* a;
  const void* b;
  const void* bias;
  void* c;
  void* workspace;
};

struct MatMulLibrary {
  // Enqueues it on a cudaStream_t and returns a cudaError_t.
  int (*launch)(void* stream, const void* args);
  // The library's best guess. UNIMPLEMENTED where it cannot do it.
  absl::StatusOr<MatMulChoice> (*choose)(GpuRuntime& gpu, const MatMulProblem& problem);
};
// cuBLASLt; null pointers in a build without the toolkit.
MatMulLibrary CudaMatMul();

}  // namespace weir
