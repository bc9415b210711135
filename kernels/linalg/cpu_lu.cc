// Lu: triangular factors of a matrix whose rows were exchanged, and that order of rows.
#include <numeric>
#include <vector>

#include "kernels/linalg/family.h"
#include "kernels/linalg/linear_algebra.h"

namespace weir {
namespace {

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
    Scalar* const a = args.out[0];
    std::copy_n(args.in[0], n * n, a);
    std::vector<int64_t> order(n);
    std::iota(order.begin(), order.end(), 0);
    for (int64_t k = 0; k < n; ++k) {
      int64_t best = k;
      for (int64_t i = k + 1; i < n; ++i) {
        if (std::abs(a[i * n + k]) > std::abs(a[best * n + k])) best = i;
      }
      if (!(std::abs(a[best * n + k]) > 0)) return errors::InvalidArgument("Input is not invertible.");
      if (best != k) {
        std::swap_ranges(a + k * n, a + (k + 1) * n, a + best * n);
        std::swap(order[k], order[best]);
      }
      for (int64_t i = k + 1; i < n; ++i) {
        const Scalar factor = a[i * n + k] /= a[k * n + k];
        for (int64_t j = k + 1; j < n; ++j) a[i * n + j] -= factor * a[k * n + j];
      }
    }
    for (int64_t i = 0; i < n; ++i) args.out[1][i] = Scalar(static_cast<double>(order[i]));
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
