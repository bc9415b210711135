// Qr: an orthogonal and an upper triangular factor.
#include <algorithm>

#include "kernels/linalg/family.h"
#include "kernels/linalg/lapack.h"
#include "kernels/linalg/linear_algebra.h"

namespace weir {
namespace {

class QrKernel : public LinearKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("full_matrices", &full_); }

 private:
  absl::StatusOr<std::vector<DimVector>> OutputDims(const std::vector<MatrixSize>& in) const override {
    const int64_t inner = full_ ? in[0].rows : std::min(in[0].rows, in[0].columns);
    return std::vector<DimVector>{{in[0].rows, inner}, {inner, in[0].columns}};
  }
  // LAPACK sees a row-major A = Q R as its transpose R^T Q^T: a factor L and one with orthogonal rows. Nothing is
  // transposed in memory.
  template <typename Scalar>
  absl::Status RunAs(const MatrixArgs<Scalar>& args) const {
    const auto [rows, columns] = args.in_sizes[0];
    const int64_t rank = std::min(rows, columns), inner = full_ ? rows : rank;
    std::vector<Scalar> a(args.in[0], args.in[0] + rows * columns), tau(rank);
    lapack::Gelqf(columns, rows, a.data(), columns, tau.data());
    Scalar *const q = args.out[0], *const r = args.out[1];
    for (int64_t i = 0; i < inner; ++i) {
      std::fill_n(r + i * columns, std::min(i, columns), Scalar(0));
      for (int64_t j = i; j < columns; ++j) r[i * columns + j] = a[i * columns + j];
    }
    for (int64_t i = 0; i < rows; ++i) std::copy_n(a.data() + i * columns, rank, q + i * inner);
    lapack::Unglq(inner, rows, rank, q, inner, tau.data());
    return absl::OkStatus();
  }
  bool ComputesInSingle() const override { return true; }
  absl::Status Run(const MatrixArgs<double>& args) const override { return RunAs(args); }
  absl::Status Run(const MatrixArgs<complex128>& args) const override { return RunAs(args); }
  absl::Status RunSingle(const MatrixArgs<float>& args) const override { return RunAs(args); }
  absl::Status RunSingle(const MatrixArgs<complex64>& args) const override { return RunAs(args); }

  bool full_ = false;
};

}  // namespace

absl::Status RegisterQrKernels(KernelRegistry& kernels) {
  return kernels.Register<QrKernel>(
      Kernel("Qr").Cpu().Types("T", {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_COMPLEX64, DT_COMPLEX128}));
}

}  // namespace weir
