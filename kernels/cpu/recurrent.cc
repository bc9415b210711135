#include "kernels/cpu/recurrent.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/gemm.h"

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

absl::Status ExpectRank(const Tensor& tensor, int rank, const char* name) {
  if (tensor.dims() == rank) return absl::OkStatus();
  return errors::InvalidArgument("Rank of ", name, " must be ", rank, ", got ", tensor.dims(), ": ", name, " must be ",
                                 rank, "D");
}

absl::Status Expect(const Tensor& tensor, std::initializer_list<ExpectedSize> sizes, const char* name) {
  RETURN_IF_ERROR(ExpectRank(tensor, static_cast<int>(sizes.size()), name));
  int axis = 0;
  for (const ExpectedSize& expected : sizes) {
    const int64_t size = tensor.dim_size(axis++);
    if (size == expected.size) continue;
    return errors::InvalidArgument(name, expected.meaning == kBatchSize ? ".dims(" : ".dim_size(", axis - 1,
                                   ") != ", expected.meaning, ": ", size, " vs. ", expected.size);
  }
  return absl::OkStatus();
}

}  // namespace weir::recurrent
