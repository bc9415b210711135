// Products of double and complex matrices by Eigen, whose kernels each take seconds to compile.
#include "core/tensor/numeric_types.h"
#include "kernels/linalg/matmul/gemm.h"

namespace weir {
namespace {

template <typename T>
void EigenGemm(const GemmArgs& g) {
  using RowMajor = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using ConstMap = Eigen::Map<const RowMajor, 0, Eigen::OuterStride<>>;
  const ConstMap a(static_cast<const T*>(g.a), g.transpose_a ? g.k : g.m, g.transpose_a ? g.m : g.k,
                   Eigen::OuterStride<>(g.lda));
  const ConstMap b(static_cast<const T*>(g.b), g.transpose_b ? g.n : g.k, g.transpose_b ? g.k : g.n,
                   Eigen::OuterStride<>(g.ldb));
  Eigen::Map<RowMajor, 0, Eigen::OuterStride<>> c(static_cast<T*>(g.c), g.m, g.n, Eigen::OuterStride<>(g.ldc));
  // Copies bring both operands to one form, so that one kernel serves all four and the conjugates.
  RowMajor left, right;
  const auto straighten = [](const ConstMap& x, bool transpose, bool conjugate, RowMajor* out) {
    if (transpose) {
      *out = x.transpose();
    } else {
      *out = x;
    }
    if constexpr (Eigen::NumTraits<T>::IsComplex) {
      if (conjugate) *out = out->conjugate().eval();
    }
  };
  const bool copy_a = g.transpose_a || g.conjugate_a, copy_b = g.transpose_b || g.conjugate_b;
  if (copy_a) straighten(a, g.transpose_a, g.conjugate_a, &left);
  if (copy_b) straighten(b, g.transpose_b, g.conjugate_b, &right);
  const ConstMap x(copy_a ? left.data() : a.data(), g.m, g.k, Eigen::OuterStride<>(copy_a ? g.k : g.lda));
  const ConstMap y(copy_b ? right.data() : b.data(), g.k, g.n, Eigen::OuterStride<>(copy_b ? g.n : g.ldb));
  c.noalias() = x * y;
}

}  // namespace

void GemmDouble(const GemmArgs& args) { EigenGemm<double>(args); }
void GemmComplex64(const GemmArgs& args) { EigenGemm<complex64>(args); }
void GemmComplex128(const GemmArgs& args) { EigenGemm<complex128>(args); }

}  // namespace weir
