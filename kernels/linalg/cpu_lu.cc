// Lu: triangular factors of a matrix with exchanged rows, and the order of its rows.
#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "kernels/linalg/family.h"
#include "kernels/linalg/lapack.h"
#include "kernels/linalg/linear_algebra.h"

namespace weir {
namespace {

// Factorises a row-major matrix in place, by blocks of columns. The pivot is the element of greatest absolute value:
// LAPACK compares |re| + |im| of complex ones, which exchanges other rows than TensorFlow does.
template <typename Scalar>
class InPlaceLu {
 public:
  InPlaceLu(Scalar* a, int64_t n) : a_(a), n_(n), order_(n) { std::iota(order_.begin(), order_.end(), 0); }
  const std::vector<int64_t>& order() const { return order_; }

  // False if the matrix is singular.
  bool Factorise() {
    constexpr int64_t kBlock = 48;
    for (int64_t begin = 0; begin < n_; begin += kBlock) {
      const int64_t end = std::min(begin + kBlock, n_), width = end - begin, rest = n_ - end;
      for (int64_t k = begin; k < end; ++k) {
        if (!Eliminate(k, end)) return false;
      }
      if (rest == 0) break;
      // LAPACK sees transposes, in which the products change places.
      lapack::Trsm('R', 'U', 'N', 'U', rest, width, at(begin, begin), n_, at(begin, end), n_);
      lapack::Gemm('N', 'N', rest, rest, width, Scalar(-1), at(begin, end), n_, at(end, begin), n_, Scalar(1),
                   at(end, end), n_);
    }
    return true;
  }

 private:
  // Clears column k below the diagonal, and updates the columns of its block, which ends at `end`.
  bool Eliminate(int64_t k, int64_t end) {
    int64_t best = k;
    for (int64_t i = k + 1; i < n_; ++i) {
      if (std::abs(*at(i, k)) > std::abs(*at(best, k))) best = i;
    }
    if (!(std::abs(*at(best, k)) > 0)) return false;
    if (best != k) {
      std::swap_ranges(at(k, 0), at(k, n_), at(best, 0));
      std::swap(order_[k], order_[best]);
    }
    for (int64_t i = k + 1; i < n_; ++i) {
      const Scalar factor = *at(i, k) /= *at(k, k);
      for (int64_t j = k + 1; j < end; ++j) *at(i, j) -= factor * *at(k, j);
    }
    return true;
  }
  Scalar* at(int64_t i, int64_t j) { return a_ + i * n_ + j; }

  Scalar* const a_;
  const int64_t n_;
  std::vector<int64_t> order_;
};

class LuKernel : public LinearKernel {
 private:
  absl::Status CheckShapes(const OpKernelContext& ctx) const override {
    const int rank = ctx.input(0).dims();
    if (rank >= 2) return absl::OkStatus();
    return errors::InvalidArgument("Input tensor must have rank >= 2, got ", rank);
  }
  absl::StatusOr<std::vector<DimVector>> OutputDims(const std::vector<MatrixSize>& in) const override {
    RETURN_IF_ERROR(CheckSquare(in[0]));
    return std::vector<DimVector>{{in[0].rows, in[0].rows}, {in[0].rows}};
  }

  template <typename Scalar>
  absl::Status RunAs(const MatrixArgs<Scalar>& args) const {
    const int64_t n = args.in_sizes[0].rows;
    std::copy_n(args.in[0], n * n, args.out[0]);
    InPlaceLu<Scalar> lu(args.out[0], n);
    if (!lu.Factorise()) return errors::InvalidArgument("Input is not invertible.");
    for (int64_t i = 0; i < n; ++i) args.out[1][i] = Scalar(static_cast<double>(lu.order()[i]));
    return absl::OkStatus();
  }
  absl::Status Run(const MatrixArgs<double>& args) const override { return RunAs(args); }
  absl::Status Run(const MatrixArgs<std::complex<double>>& args) const override { return RunAs(args); }
};

}  // namespace

absl::Status RegisterLuKernels(KernelRegistry& kernels) {
  return kernels.Register<LuKernel>(
      Kernel("Lu").Cpu().Types("T", {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_COMPLEX64, DT_COMPLEX128}));
}

}  // namespace weir
