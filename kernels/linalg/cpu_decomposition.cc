// Orthogonal factors and least squares. Householder reflections and Jacobi rotations: short, accurate to the last
// digits, and of one form for real and complex matrices.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/linalg/family.h"
#include "kernels/linalg/linear_algebra.h"

namespace weir {
namespace {

double Conj(double x) { return x; }
std::complex<double> Conj(std::complex<double> x) { return std::conj(x); }
double Real(double x) { return x; }
double Real(std::complex<double> x) { return x.real(); }

// Column-major, so that columns are dense.
template <typename Scalar>
struct Columns {
  Columns(int64_t row_count, int64_t column_count)
      : rows(row_count), columns(column_count), data(row_count * column_count) {}
  static Columns FromRows(const Scalar* from, MatrixSize size) {
    Columns m(size.rows, size.columns);
    for (int64_t i = 0; i < size.rows; ++i) {
      for (int64_t j = 0; j < size.columns; ++j) m(i, j) = from[i * size.columns + j];
    }
    return m;
  }
  static Columns Identity(int64_t n, int64_t width) {
    Columns m(n, width);
    for (int64_t i = 0; i < std::min(n, width); ++i) m(i, i) = Scalar(1);
    return m;
  }
  void ToRows(Scalar* to) const {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) to[i * columns + j] = (*this)(i, j);
    }
  }
  Columns Adjoint() const {
    Columns m(columns, rows);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) m(j, i) = Conj((*this)(i, j));
    }
    return m;
  }
  Scalar& operator()(int64_t i, int64_t j) { return data[j * rows + i]; }
  Scalar operator()(int64_t i, int64_t j) const { return data[j * rows + i]; }
  Scalar* column(int64_t j) { return data.data() + j * rows; }
  const Scalar* column(int64_t j) const { return data.data() + j * rows; }

  int64_t rows, columns;
  std::vector<Scalar> data;
};

template <typename Scalar>
Scalar Dot(const Scalar* x, const Scalar* y, int64_t n) {
  Scalar sum(0);
  for (int64_t i = 0; i < n; ++i) sum += Conj(x[i]) * y[i];
  return sum;
}
template <typename Scalar>
bool AllFinite(const Scalar* x, int64_t n) {
  return std::all_of(x, x + n, [](Scalar v) { return std::isfinite(std::abs(v)); });
}

// A = Q R: R above the diagonal of `a`, the vectors of the reflections below it, each with its factor.
template <typename Scalar>
struct Reflections {
  explicit Reflections(Columns<Scalar> matrix) : a(std::move(matrix)) {
    const int64_t n = std::min(a.rows, a.columns);
    for (int64_t k = 0; k < n; ++k) {
      Scalar* const x = a.column(k) + k;
      const int64_t length = a.rows - k;
      const double rest = Real(Dot(x + 1, x + 1, length - 1)), head = std::abs(x[0]);
      if (rest <= std::numeric_limits<double>::min() && x[0] == Scalar(Real(x[0]))) {
        factors.push_back(Scalar(0));
        continue;
      }
      double beta = std::sqrt(head * head + rest);
      if (Real(x[0]) >= 0) beta = -beta;
      const Scalar pivot = x[0] - beta;
      for (int64_t i = 1; i < length; ++i) x[i] /= pivot;
      factors.push_back(Conj((beta - x[0]) / beta));
      x[0] = Scalar(beta);
      for (int64_t j = k + 1; j < a.columns; ++j) Reflect(k, factors[k], a.column(j));
    }
  }
  // Applies reflection k, with its factor or that of its adjoint, to a column.
  void Reflect(int64_t k, Scalar factor, Scalar* y) const {
    const Scalar* const v = a.column(k) + k + 1;
    const int64_t length = a.rows - k - 1;
    const Scalar sum = (y[k] + Dot(v, y + k + 1, length)) * factor;
    y[k] -= sum;
    for (int64_t i = 0; i < length; ++i) y[k + 1 + i] -= v[i] * sum;
  }
  // Q times the columns of `m`.
  void ApplyQ(Columns<Scalar>& m) const {
    for (int64_t j = 0; j < m.columns; ++j) {
      for (int64_t k = static_cast<int64_t>(factors.size()) - 1; k >= 0; --k) Reflect(k, Conj(factors[k]), m.column(j));
    }
  }
  Columns<Scalar> a;
  std::vector<Scalar> factors;
};

// Both forms of Run call the template RunAs of the class.
#define WEIR_RUN_BOTH                                                                     \
  absl::Status Run(const MatrixArgs<double>& args) const override { return RunAs(args); } \
  absl::Status Run(const MatrixArgs<std::complex<double>>& args) const override { return RunAs(args); }

class QrKernel : public LinearKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("full_matrices", &full_); }

 private:
  absl::StatusOr<std::vector<DimVector>> OutputDims(const std::vector<MatrixSize>& in) const override {
    const int64_t inner = full_ ? in[0].rows : std::min(in[0].rows, in[0].columns);
    return std::vector<DimVector>{{in[0].rows, inner}, {inner, in[0].columns}};
  }
  template <typename Scalar>
  absl::Status RunAs(const MatrixArgs<Scalar>& args) const {
    const auto [rows, columns] = args.in_sizes[0];
    const int64_t inner = full_ ? rows : std::min(rows, columns);
    const Reflections<Scalar> qr(Columns<Scalar>::FromRows(args.in[0], args.in_sizes[0]));
    auto q = Columns<Scalar>::Identity(rows, inner);
    qr.ApplyQ(q);
    q.ToRows(args.out[0]);
    for (int64_t i = 0; i < inner; ++i) {
      for (int64_t j = 0; j < columns; ++j) args.out[1][i * columns + j] = i <= j ? qr.a(i, j) : Scalar(0);
    }
    return absl::OkStatus();
  }
  WEIR_RUN_BOTH

  bool full_ = false;
};

// One rotation of columns p and q of `m` by cosine c and sine s, with the phase of the product that it clears.
template <typename Scalar>
void Rotate(Columns<Scalar>& m, int64_t p, int64_t q, double c, double s, Scalar phase) {
  Scalar *x = m.column(p), *y = m.column(q);
  for (int64_t i = 0; i < m.rows; ++i) {
    const Scalar a = x[i], b = y[i] * Conj(phase);
    x[i] = c * a - s * b;
    y[i] = s * a + c * b;
  }
}
// Cosine and sine that clear the off-diagonal `g` of [[a, g], [g, b]].
void Angle(double a, double b, double g, double* c, double* s) {
  const double zeta = (b - a) / (2 * g), t = std::copysign(1.0, zeta) / (std::abs(zeta) + std::hypot(1.0, zeta));
  *c = 1 / std::hypot(1.0, t);
  *s = *c * t;
}

constexpr int kMaxSweeps = 60;

// One-sided Jacobi: rotates the columns of `a` (at least as many rows) until they are orthogonal, and `v` alike. Their
// lengths are the singular values.
template <typename Scalar>
void Orthogonalise(Columns<Scalar>& a, Columns<Scalar>& v) {
  const double epsilon = std::numeric_limits<double>::epsilon();
  for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
    bool rotated = false;
    for (int64_t p = 0; p + 1 < a.columns; ++p) {
      for (int64_t q = p + 1; q < a.columns; ++q) {
        const Scalar product = Dot(a.column(p), a.column(q), a.rows);
        const double g = std::abs(product), x = Real(Dot(a.column(p), a.column(p), a.rows)),
                     y = Real(Dot(a.column(q), a.column(q), a.rows));
        if (g == 0 || g <= epsilon * std::sqrt(x * y)) continue;
        rotated = true;
        double c, s;
        Angle(x, y, g, &c, &s);
        Rotate(a, p, q, c, s, product / g);
        Rotate(v, p, q, c, s, product / g);
      }
    }
    if (!rotated) return;
  }
}

// Inputs: matrix, right-hand sides, l2_regularizer: the x that makes |A x - b|^2 + l2 |x|^2 least, and among several
// the shortest. By singular values.
class LeastSquaresKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("fast", &solve_.fast); }

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
      const int64_t sides = args.in_sizes[1].columns, n = columns;
      std::fill_n(args.out[0], n * sides, Scalar(0));
      if (rows == 0 || columns == 0 || sides == 0) return absl::OkStatus();
      // Singular values tell the rank: x = V (S / (S^2 + l2)) U^H b.
      const bool tall = rows >= columns;
      auto a = Columns<Scalar>::FromRows(args.in[0], args.in_sizes[0]);
      if (!AllFinite(args.in[0], rows * columns)) {
        std::fill_n(args.out[0], n * sides, Scalar(NAN));
        return absl::OkStatus();
      }
      if (!tall) a = a.Adjoint();
      auto v = Columns<Scalar>::Identity(a.columns, a.columns);
      Orthogonalise(a, v);
      double most = 0;
      std::vector<double> squares(a.columns);
      for (int64_t j = 0; j < a.columns; ++j) {
        squares[j] = Real(Dot(a.column(j), a.column(j), a.rows));
        most = std::max(most, squares[j]);
      }
      const double least = most * std::pow(std::numeric_limits<double>::epsilon() * static_cast<double>(a.rows), 2);
      for (int64_t j = 0; j < a.columns; ++j) {
        if (squares[j] <= least) {
          if (fast && regularizer == 0) {
            return errors::InvalidArgument(
                "Input matrix was rank deficient or ill-conditioned. Try setting fast=False "
                "or provide a larger l2_regularizer > 0.");
          }
          continue;
        }
        // Column j of `a` is s_j u_j where the matrix is tall; otherwise s_j v_j, and `v` holds the u.
        const Scalar* const u = tall ? a.column(j) : v.column(j);
        const Scalar* const w = tall ? v.column(j) : a.column(j);
        const double weight = 1 / (squares[j] + regularizer * (fast ? 1 : 0));
        for (int64_t c = 0; c < sides; ++c) {
          Scalar along(0);
          for (int64_t i = 0; i < rows; ++i) along += Conj(u[i]) * args.in[1][i * sides + c];
          for (int64_t i = 0; i < n; ++i) args.out[0][i * sides + c] += w[i] * (along * weight);
        }
      }
      return absl::OkStatus();
    }
    WEIR_RUN_BOTH
  };

  Solve solve_;
};

}  // namespace

absl::Status RegisterDecompositionKernels(KernelRegistry& kernels) {
  const DataTypeVector types = {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_COMPLEX64, DT_COMPLEX128};
  RETURN_IF_ERROR(kernels.Register<QrKernel>(Kernel("Qr").Cpu().Types("T", types)));
  return kernels.Register<LeastSquaresKernel>(
      Kernel("MatrixSolveLs").Cpu().Types("T", types).HostMemory("l2_regularizer"));
}

}  // namespace weir
