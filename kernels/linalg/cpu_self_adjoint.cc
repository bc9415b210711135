// SelfAdjointEigV2 and SelfAdjointEig. LAPACK reduces to tridiagonal form; QR steps with Wilkinson's shift follow, as
// in Eigen's SelfAdjointEigenSolver and in the precision of the elements, which gives TensorFlow's signs.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/linalg/family.h"
#include "kernels/linalg/lapack.h"
#include "kernels/linalg/linear_algebra.h"

namespace weir {
namespace {

// The eigenvalues of a symmetric tridiagonal matrix, by implicit QR steps. Each rotation is applied to the columns of
// q, unless it is null.
template <typename Scalar>
class TridiagonalQr {
 public:
  using Real = lapack::RealOf<Scalar>;

  TridiagonalQr(Real* diagonal, Real* below, int64_t n, Scalar* q) : d_(diagonal), e_(below), n_(n), q_(q) {}

  // False if it does not converge.
  bool Run() {
    constexpr int64_t kMostSteps = 30;  // for one eigenvalue
    int64_t steps = 0;
    for (int64_t end = n_ - 1; end > 0;) {
      for (int64_t i = 0; i < end; ++i) {
        if (IsNegligible(i)) e_[i] = 0;
      }
      while (end > 0 && e_[end - 1] == 0) --end;
      if (end == 0) break;
      if (++steps > kMostSteps * n_) return false;
      int64_t start = end - 1;
      while (start > 0 && e_[start - 1] != 0) --start;
      Step(start, end);
    }
    Sort();
    return true;
  }

 private:
  bool IsNegligible(int64_t i) const {
    if (std::abs(e_[i]) < std::numeric_limits<Real>::min()) return true;
    const Real scaled = e_[i] / std::numeric_limits<Real>::epsilon();
    return scaled * scaled <= std::abs(d_[i]) + std::abs(d_[i + 1]);
  }
  // The eigenvalue of the last two rows that is nearer to the last element.
  Real Shift(int64_t end) const {
    const Real half = (d_[end - 1] - d_[end]) * Real(0.5), e = e_[end - 1];
    if (half == 0) return d_[end] - std::abs(e);
    if (e == 0) return d_[end];
    const Real square = e * e, root = half + std::copysign(std::hypot(half, e), half);
    return square == 0 ? d_[end] - e / (root / e) : d_[end] - square / root;
  }
  void Step(int64_t start, int64_t end) {
    Real x = d_[start] - Shift(end), z = e_[start];
    for (int64_t k = start; k < end && z != 0; ++k) {
      const auto [c, s] = Rotation(x, z);
      const Real upper = s * d_[k] + c * e_[k], lower = s * e_[k] + c * d_[k + 1];
      d_[k] = c * (c * d_[k] - s * e_[k]) - s * (c * e_[k] - s * d_[k + 1]);
      d_[k + 1] = s * upper + c * lower;
      e_[k] = c * upper - s * lower;
      if (k > start) e_[k - 1] = c * e_[k - 1] - s * z;
      x = e_[k];
      if (k + 1 < end) {
        z = -s * e_[k + 1];
        e_[k + 1] *= c;
      }
      if (q_ != nullptr) lapack::Rot(n_, q_ + k * n_, 1, q_ + (k + 1) * n_, 1, c, Scalar(-s));
    }
  }
  // Cosine and sine with c x - s z > 0 and s x + c z = 0, where z is not zero. Ratios lose less to rounding than a
  // division of both by their length.
  static std::pair<Real, Real> Rotation(Real x, Real z) {
    if (std::abs(x) > std::abs(z)) {
      const Real t = z / x, c = 1 / std::copysign(std::sqrt(1 + t * t), x);
      return {c, -t * c};
    }
    const Real t = x / z, s = -1 / std::copysign(std::sqrt(1 + t * t), z);
    return {-t * s, s};
  }
  void Sort() {
    for (int64_t i = 0; i + 1 < n_; ++i) {
      const int64_t least = std::min_element(d_ + i, d_ + n_) - d_;
      if (least == i) continue;
      std::swap(d_[i], d_[least]);
      if (q_ != nullptr) std::swap_ranges(q_ + i * n_, q_ + (i + 1) * n_, q_ + least * n_);
    }
  }

  Real *const d_, *const e_;
  const int64_t n_;
  Scalar* const q_;
};

// SelfAdjointEigV2, and SelfAdjointEig, whose one output has the values as its first row. Reads the lower triangle.
class SelfAdjointEigKernel : public LinearKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    joined_ = ctx.op() == "SelfAdjointEig" || ctx.op() == "BatchSelfAdjointEig";
    return joined_ ? absl::OkStatus() : ctx.GetAttr("compute_v", &vectors_);
  }

 private:
  absl::StatusOr<std::vector<DimVector>> OutputDims(const std::vector<MatrixSize>& in) const override {
    RETURN_IF_ERROR(CheckSquare(in[0]));
    const int64_t n = in[0].rows;
    if (joined_) return std::vector<DimVector>{{n + 1, n}};
    return std::vector<DimVector>{{n}, vectors_ ? DimVector{n, n} : DimVector{-1}};
  }
  double Cost(const std::vector<MatrixSize>& in) const override { return std::min(1e15, 20 * LinearKernel::Cost(in)); }

  template <typename Scalar>
  absl::Status RunAs(const MatrixArgs<Scalar>& args) const {
    using Real = lapack::RealOf<Scalar>;
    const int64_t n = args.in_sizes[0].rows;
    if (n == 0) return absl::OkStatus();
    const absl::Status failed =
        errors::InvalidArgument("Self-adjoint eigen decomposition was not successful. The input might not be valid.");
    // Column-major, of elements of at most 1.
    std::vector<Scalar> q(n * n);
    Real scale = 0;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j <= i; ++j) {
        const Scalar x = q[j * n + i] = args.in[0][i * n + j];
        if (!std::isfinite(std::abs(x))) return failed;
        scale = std::max(scale, std::abs(x));
      }
    }
    if (scale == 0) scale = 1;
    for (Scalar& x : q) x /= scale;
    std::vector<Real> values(n), below(n);
    std::vector<Scalar> tau(n);
    lapack::Hetrd('L', n, q.data(), n, values.data(), below.data(), tau.data());
    if (vectors_) lapack::Ungtr('L', n, q.data(), n, tau.data());
    if (!TridiagonalQr<Scalar>(values.data(), below.data(), n, vectors_ ? q.data() : nullptr).Run()) return failed;
    for (int64_t i = 0; i < n; ++i) args.out[0][i] = Scalar(values[i] * scale);
    if (vectors_) lapack::Transpose(q.data(), n, n, joined_ ? args.out[0] + n : args.out[1]);
    return absl::OkStatus();
  }
  bool ComputesInSingle() const override { return true; }
  absl::Status RunSingle(const MatrixArgs<float>& args) const override { return RunAs(args); }
  absl::Status Run(const MatrixArgs<double>& args) const override { return RunAs(args); }
  absl::Status RunSingle(const MatrixArgs<complex64>& args) const override { return RunAs(args); }
  absl::Status Run(const MatrixArgs<complex128>& args) const override { return RunAs(args); }

  bool joined_ = false, vectors_ = true;
};

}  // namespace

absl::Status RegisterSelfAdjointKernels(KernelRegistry& kernels) {
  const DataTypeVector types = {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_COMPLEX64, DT_COMPLEX128};
  RETURN_IF_ERROR(kernels.Register<SelfAdjointEigKernel>(Kernel("SelfAdjointEigV2").Cpu().Types("T", types)));
  return kernels.Register<SelfAdjointEigKernel>(Kernel("SelfAdjointEig").Cpu().Types("T", types));
}

}  // namespace weir
