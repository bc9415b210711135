// Svd: singular values and vectors.
#include <algorithm>
#include <cmath>

#include "kernels/linalg/family.h"
#include "kernels/linalg/linear_algebra.h"
#include "kernels/linalg/svd.h"

namespace weir {
namespace {

template <typename Scalar>
void FillIdentity(Scalar* to, int64_t n) {
  std::fill_n(to, n * n, Scalar(0));
  for (int64_t i = 0; i < n; ++i) to[i * n + i] = Scalar(1);
}

class SvdKernel : public LinearKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("compute_uv", &vectors_));
    return ctx.GetAttr("full_matrices", &full_);
  }

 private:
  absl::StatusOr<std::vector<DimVector>> OutputDims(const std::vector<MatrixSize>& in) const override {
    const int64_t rows = in[0].rows, columns = in[0].columns, inner = std::min(rows, columns);
    if (!vectors_) return std::vector<DimVector>{{inner}, {-1}, {-1}};
    return std::vector<DimVector>{{inner}, {rows, full_ ? rows : inner}, {columns, full_ ? columns : inner}};
  }
  double Cost(const std::vector<MatrixSize>& in) const override { return std::min(1e15, 20 * LinearKernel::Cost(in)); }

  template <typename Scalar>
  absl::Status RunAs(const MatrixArgs<Scalar>& args) const {
    const auto [rows, columns] = args.in_sizes[0];
    const int64_t inner = std::min(rows, columns);
    if (inner == 0) {  // no values, but full vectors
      FillIdentity(args.out[1], full_ ? rows : 0);
      FillIdentity(args.out[2], full_ ? columns : 0);
      return absl::OkStatus();
    }
    const Scalar* const a = args.in[0];
    if (!std::all_of(a, a + rows * columns, [](Scalar x) { return std::isfinite(std::abs(x)); })) {
      std::fill_n(args.out[0], inner, Scalar(NAN));
      if (!vectors_) return absl::OkStatus();
      std::fill_n(args.out[1], rows * (full_ ? rows : inner), Scalar(NAN));
      std::fill_n(args.out[2], columns * (full_ ? columns : inner), Scalar(NAN));
      return absl::OkStatus();
    }
    const SvdVectors vectors = !vectors_ ? SvdVectors::kNone : full_ ? SvdVectors::kFull : SvdVectors::kThin;
    if (DecomposeBySvd(a, rows, columns, vectors, args.out[0], args.out[1], args.out[2])) return absl::OkStatus();
    return errors::Internal("The singular value decomposition did not converge.");
  }
  bool ComputesInSingle() const override { return true; }
  absl::Status Run(const MatrixArgs<double>& args) const override { return RunAs(args); }
  absl::Status Run(const MatrixArgs<complex128>& args) const override { return RunAs(args); }
  absl::Status RunSingle(const MatrixArgs<float>& args) const override { return RunAs(args); }
  absl::Status RunSingle(const MatrixArgs<complex64>& args) const override { return RunAs(args); }

  bool vectors_ = true, full_ = false;
};

}  // namespace

absl::Status RegisterSvdKernels(KernelRegistry& kernels) {
  return kernels.Register<SvdKernel>(
      Kernel("Svd").Cpu().Types("T", {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_COMPLEX64, DT_COMPLEX128}));
}

}  // namespace weir
