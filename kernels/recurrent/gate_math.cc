#include "kernels/recurrent/gate_math.h"

#include <algorithm>
#include <cmath>

#include "kernels/linalg/matmul/gemm.h"

namespace weir::recurrent {

float Sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

void Product(const float* a, bool transpose_a, const float* b, bool transpose_b, int64_t m, int64_t n, int64_t k,
             float* c) {
  if (m == 0 || n == 0) return;
  if (k == 0) {
    std::fill_n(c, m * n, 0.0f);
    return;
  }
  GemmArgs args;
  args.transpose_a = transpose_a;
  args.transpose_b = transpose_b;
  args.m = m;
  args.n = n;
  args.k = k;
  args.a = a;
  args.lda = transpose_a ? m : k;
  args.b = b;
  args.ldb = transpose_b ? k : n;
  args.c = c;
  args.ldc = n;
  GemmFloat(args);
}

}  // namespace weir::recurrent
