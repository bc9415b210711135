#include "kernels/linalg/matmul/gemm.h"

#include <dnnl.h>
#include <omp.h>

#include <algorithm>
#include <vector>

#include "kernels/device/float16.h"
#include "kernels/device/parallel.h"

namespace weir {
namespace {

// Below this many multiplications a plain loop beats the library's set-up.
constexpr int64_t kTiny = 2048;

// out[i,j] += a[i,l] * b[l,j]; the innermost loop runs along rows of b wherever b is not transposed.
template <typename T>
void PlainGemm(const GemmArgs& g) {
  const auto* a = static_cast<const T*>(g.a);
  const auto* b = static_cast<const T*>(g.b);
  const int64_t a_row = g.transpose_a ? 1 : g.lda, a_step = g.transpose_a ? g.lda : 1;
  for (int64_t i = 0; i < g.m; ++i) {
    T* c = static_cast<T*>(g.c) + i * g.ldc;
    const T* x = a + i * a_row;
    if (g.transpose_b) {
      for (int64_t j = 0; j < g.n; ++j) {
        const T* y = b + j * g.ldb;
        T sum = 0;
        for (int64_t l = 0; l < g.k; ++l) sum += x[l * a_step] * y[l];
        c[j] = sum;
      }
      continue;
    }
    std::fill_n(c, g.n, T(0));
    for (int64_t l = 0; l < g.k; ++l) {
      const T factor = x[l * a_step];
      const T* y = b + l * g.ldb;
      WEIR_INDEPENDENT_ITERATIONS
      for (int64_t j = 0; j < g.n; ++j) c[j] += factor * y[j];
    }
  }
}

template <typename T>
void Gemm16(const GemmArgs& g) {
  const auto widen = [](const void* data, int64_t rows, int64_t columns, int64_t stride) {
    std::vector<float> wide(rows * columns);
    for (int64_t i = 0; i < rows; ++i) {
      ToFloats(At16<T>(data, i * stride), wide.data() + i * columns, columns);
    }
    return wide;
  };
  const int64_t a_columns = g.transpose_a ? g.m : g.k, b_columns = g.transpose_b ? g.k : g.n;
  const std::vector<float> a = widen(g.a, g.transpose_a ? g.k : g.m, a_columns, g.lda);
  const std::vector<float> b = widen(g.b, g.transpose_b ? g.n : g.k, b_columns, g.ldb);
  std::vector<float> c(g.m * g.n);
  GemmArgs wide = g;
  wide.a = a.data();
  wide.lda = a_columns;
  wide.b = b.data();
  wide.ldb = b_columns;
  wide.c = c.data();
  wide.ldc = g.n;
  GemmFloat(wide);
  for (int64_t i = 0; i < g.m; ++i) FromFloats(c.data() + i * g.n, At16<T>(g.c, i * g.ldc), g.n);
}

void GemmBfloat16(const GemmArgs& g) {
  if (!MultiplyBfloat16(g)) Gemm16<bfloat16>(g);
}

}  // namespace

void GemmFloat(const GemmArgs& g) {
  if (g.m * g.n * g.k <= kTiny) return PlainGemm<float>(g);
  // The library would start threads of its own beside the work queue's.
  if (omp_get_max_threads() != 1) omp_set_num_threads(1);
  dnnl_sgemm(g.transpose_a ? 'T' : 'N', g.transpose_b ? 'T' : 'N', g.m, g.n, g.k, 1.0f, static_cast<const float*>(g.a),
             g.lda, static_cast<const float*>(g.b), g.ldb, 0.0f, static_cast<float*>(g.c), g.ldc);
}

Gemm FindGemm(DataType type) {
  switch (type) {
    case DT_FLOAT:
      return &GemmFloat;
    case DT_DOUBLE:
      return &GemmDouble;
    case DT_HALF:
      return &Gemm16<half>;
    case DT_BFLOAT16:
      return &GemmBfloat16;
    case DT_COMPLEX64:
      return &GemmComplex64;
    case DT_COMPLEX128:
      return &GemmComplex128;
    // Products of integers are the same bits whether signed or not, and unsigned ones wrap.
    case DT_INT16:
      return &PlainGemm<uint16_t>;
    case DT_INT32:
      return &PlainGemm<uint32_t>;
    case DT_INT64:
      return &PlainGemm<uint64_t>;
    default:
      return nullptr;
  }
}

}  // namespace weir
