// MatrixSolveLs: least squares, with or without a regularizer.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/linalg/family.h"
#include "kernels/linalg/lapack.h"
#include "kernels/linalg/linear_algebra.h"

namespace weir {
namespace {

// Solves (A^H A + l2 I) x = A^H b, or for a wide A the shortest x = A^H (A A^H + l2 I)^-1 b, by a Cholesky factor. One
// step of refinement brings back the digits that squaring A loses. All matrices are column-major.
template <typename Scalar>
class NormalEquations {
 public:
  NormalEquations(int64_t rows, int64_t columns, const Scalar* a, double l2)
      : rows_(rows), columns_(columns), size_(std::min(rows, columns)), a_(a), l2_(l2), gram_(size_ * size_) {
    lapack::Herk('L', tall() ? 'C' : 'N', size_, tall() ? rows : columns, 1.0, a, rows, 0.0, gram_.data(), size_);
    for (int64_t i = 0; i < size_; ++i) gram_[i * size_ + i] += l2;
  }

  // False if the matrix is singular within rounding.
  bool Factorise() {
    std::vector<double> diagonal(size_);
    for (int64_t i = 0; i < size_; ++i) diagonal[i] = std::abs(gram_[i * size_ + i]);
    if (lapack::Potrf('L', size_, gram_.data(), size_) != 0) return false;
    const double rounding = std::numeric_limits<double>::epsilon() * static_cast<double>(size_);
    for (int64_t i = 0; i < size_; ++i) {
      if (!(std::norm(gram_[i * size_ + i]) > rounding * diagonal[i])) return false;
    }
    return true;
  }

  std::vector<Scalar> Solve(const std::vector<Scalar>& b, int64_t sides) const {
    std::vector<Scalar> x(columns_ * sides), rest = b;
    if (tall()) {
      std::vector<Scalar> step(columns_ * sides);
      for (int pass = 0; pass < 2; ++pass) {
        if (pass > 0) Multiply('N', Scalar(-1), x, sides, Scalar(1), &(rest = b));
        for (int64_t i = 0; i < columns_ * sides; ++i) step[i] = Scalar(-l2_) * x[i];
        Multiply('C', Scalar(1), rest, sides, Scalar(1), &step);
        Substitute(sides, &step);
        for (int64_t i = 0; i < columns_ * sides; ++i) x[i] += step[i];
      }
      return x;
    }
    std::vector<Scalar> y(rows_ * sides);
    for (int pass = 0; pass < 2; ++pass) {
      if (pass > 0) {  // b - (A A^H + l2 I) y, where x = A^H y
        rest = b;
        for (int64_t i = 0; i < rows_ * sides; ++i) rest[i] -= Scalar(l2_) * y[i];
        Multiply('N', Scalar(-1), x, sides, Scalar(1), &rest);
      }
      Substitute(sides, &rest);
      for (int64_t i = 0; i < rows_ * sides; ++i) y[i] += rest[i];
      Multiply('C', Scalar(1), y, sides, Scalar(0), &x);
    }
    return x;
  }

 private:
  bool tall() const { return rows_ >= columns_; }
  // to = alpha op(A) from + beta to
  void Multiply(char op, Scalar alpha, const std::vector<Scalar>& from, int64_t sides, Scalar beta,
                std::vector<Scalar>* to) const {
    const int64_t height = op == 'N' ? rows_ : columns_, depth = op == 'N' ? columns_ : rows_;
    lapack::Gemm(op, 'N', height, sides, depth, alpha, a_, rows_, from.data(), depth, beta, to->data(), height);
  }
  void Substitute(int64_t sides, std::vector<Scalar>* x) const {
    for (const char op : {'N', 'C'}) {
      lapack::Trsm('L', 'L', op, 'N', size_, sides, gram_.data(), size_, x->data(), size_);
    }
  }

  const int64_t rows_, columns_, size_;
  const Scalar* const a_;
  const double l2_;
  std::vector<Scalar> gram_;
};

// Inputs: matrix, right-hand sides, l2_regularizer. The x that minimises |A x - b|^2 + l2 |x|^2, and of several the
// shortest. `fast` solves the normal equations; otherwise a complete orthogonal factorisation finds the rank, and the
// regularizer is ignored.
class LeastSquaresKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    DataType type;
    RETURN_IF_ERROR(ctx.GetAttr("T", &type));
    if (type != DT_DOUBLE && type != DT_COMPLEX128) solve_.epsilon = std::numeric_limits<float>::epsilon();
    return ctx.GetAttr("fast", &solve_.fast);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& l2 = ctx.input(2);
    if (l2.dims() != 0)
      return errors::InvalidArgument("l2_regularizer must be scalar, got shape ", l2.shape().ToString());
    Solve solve = solve_;
    solve.regularizer = l2.scalar<double>();
    if (!(solve.regularizer >= 0)) return errors::InvalidArgument("l2_regularizer must be >= 0.");
    return solve.Compute(ctx);
  }

 private:
  class Solve : public LinearKernel {
   public:
    bool fast = true;
    double regularizer = 0;
    // Of the elements, whose rounding decides the rank.
    double epsilon = std::numeric_limits<double>::epsilon();

   private:
    int MatrixInputs() const override { return 2; }
    absl::StatusOr<std::vector<DimVector>> OutputDims(const std::vector<MatrixSize>& in) const override {
      if (in[0].rows != in[1].rows) {
        return errors::InvalidArgument("Input matrix and rhs are incompatible.");
      }
      return std::vector<DimVector>{{in[0].columns, in[1].columns}};
    }
    template <typename Scalar>
    absl::Status RunAs(const MatrixArgs<Scalar>& args) const {
      const auto [rows, columns] = args.in_sizes[0];
      const int64_t sides = args.in_sizes[1].columns;
      std::fill_n(args.out[0], columns * sides, Scalar(0));
      if (rows == 0 || columns == 0 || sides == 0) return absl::OkStatus();
      if (!std::all_of(args.in[0], args.in[0] + rows * columns, [](Scalar x) { return std::isfinite(std::abs(x)); })) {
        std::fill_n(args.out[0], columns * sides, Scalar(NAN));
        return absl::OkStatus();
      }
      std::vector<Scalar> a(rows * columns), b(rows * sides);
      lapack::Transpose(args.in[0], rows, columns, a.data());
      lapack::Transpose(args.in[1], rows, sides, b.data());
      if (!fast) return SolveByRank(rows, columns, sides, std::move(a), b, args.out[0]);
      NormalEquations<Scalar> equations(rows, columns, a.data(), regularizer);
      if (!equations.Factorise()) {
        return errors::InvalidArgument(
            "Input matrix was rank deficient or ill-conditioned. Try setting fast=False "
            "or provide a larger l2_regularizer > 0.");
      }
      lapack::Transpose(equations.Solve(b, sides).data(), sides, columns, args.out[0]);
      return absl::OkStatus();
    }
    template <typename Scalar>
    absl::Status SolveByRank(int64_t rows, int64_t columns, int64_t sides, std::vector<Scalar> a,
                             const std::vector<Scalar>& b, Scalar* out) const {
      const int64_t height = std::max(rows, columns);
      std::vector<Scalar> x(height * sides);
      for (int64_t j = 0; j < sides; ++j) std::copy_n(b.data() + j * rows, rows, x.data() + j * height);
      int rank = 0;
      const double rcond = epsilon * static_cast<double>(std::min(rows, columns));
      lapack::Gelsy(rows, columns, sides, a.data(), rows, x.data(), height, rcond, &rank);
      for (int64_t i = 0; i < columns; ++i) {
        for (int64_t j = 0; j < sides; ++j) out[i * sides + j] = x[j * height + i];
      }
      return absl::OkStatus();
    }
    absl::Status Run(const MatrixArgs<double>& args) const override { return RunAs(args); }
    absl::Status Run(const MatrixArgs<complex128>& args) const override { return RunAs(args); }
  };

  Solve solve_;
};

}  // namespace

absl::Status RegisterLeastSquaresKernels(KernelRegistry& kernels) {
  return kernels.Register<LeastSquaresKernel>(
      Kernel("MatrixSolveLs")
          .Cpu()
          .Types("T", {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_COMPLEX64, DT_COMPLEX128})
          .HostMemory("l2_regularizer"));
}

}  // namespace weir
