// Tests that the factors of decompositions multiply to the matrix, alone and in batches.
#include <algorithm>
#include <cmath>
#include <complex>
#include <random>
#include <vector>

#include "kernels/op_testing.h"

namespace weir {
namespace {

// Matrices that are large enough for blocked algorithms, checked by what their factors multiply to.
class DecompositionTest : public OpTest {
 protected:
  template <typename T>
  Tensor Random(int64_t rows, int64_t columns) {
    std::normal_distribution<double> normal;
    std::vector<T> values(rows * columns);
    for (T& x : values) {
      if constexpr (std::is_same_v<T, complex128>) {
        x = T(normal(generator_), normal(generator_));
      } else {
        x = static_cast<T>(normal(generator_));
      }
    }
    return AsTensor<T>(std::move(values), {rows, columns});
  }
  template <typename T>
  static Tensor Product(const Tensor& a, const Tensor& b, bool adjoint_b = false) {
    const int64_t rows = a.shape().dim_size(0), depth = a.shape().dim_size(1),
                  columns = b.shape().dim_size(adjoint_b ? 0 : 1);
    std::vector<T> values(rows * columns, T(0));
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t k = 0; k < depth; ++k) {
        for (int64_t j = 0; j < columns; ++j) {
          const T y = adjoint_b ? Conjugate(b.data<T>()[j * depth + k]) : b.data<T>()[k * columns + j];
          values[i * columns + j] += a.data<T>()[i * depth + k] * y;
        }
      }
    }
    return AsTensor<T>(std::move(values), {rows, columns});
  }
  static double Conjugate(double x) { return x; }
  static complex128 Conjugate(complex128 x) { return std::conj(x); }
  template <typename T>
  static Tensor ScaleColumns(const Tensor& m, const Tensor& by) {
    const int64_t columns = m.shape().dim_size(1);
    std::vector<T> values(m.data<T>(), m.data<T>() + m.NumElements());
    for (size_t i = 0; i < values.size(); ++i) values[i] *= by.data<T>()[i % columns];
    return AsTensor<T>(std::move(values), m.shape());
  }
  template <typename T>
  static void ExpectNear(const Tensor& a, const Tensor& b) {
    ASSERT_EQ(a.shape(), b.shape());
    double most = 0;
    for (int64_t i = 0; i < a.NumElements(); ++i)
      most = std::max<double>(most, std::abs(a.data<T>()[i] - b.data<T>()[i]));
    EXPECT_LT(most, 1e-11);
  }

  template <typename T>
  void ExpectFactors(int64_t rows, int64_t columns, bool full) {
    SCOPED_TRACE(testing::Message() << rows << " x " << columns << ", full " << full);
    const Tensor a = Random<T>(rows, columns);
    const Attrs attrs = Attrs().Set("full_matrices", full);
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> qr, RunOp("Qr", {a}, attrs));
    ExpectNear<T>(Product<T>(qr[0], qr[1]), a);
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> svd, RunOp("Svd", {a}, Attrs()));
    std::vector<T> values(svd[0].data<T>(), svd[0].data<T>() + svd[0].NumElements());
    EXPECT_TRUE(std::is_sorted(values.begin(), values.end(), [](T x, T y) { return std::abs(x) > std::abs(y); }));
    const int64_t count = static_cast<int64_t>(values.size());
    ExpectNear<T>(Product<T>(ScaleColumns<T>(svd[1], AsTensor<T>(std::move(values), {count})), svd[2], true), a);
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> whole, RunOp("Svd", {a}, attrs));
    for (const Tensor& vectors : {whole[1], whole[2]}) {
      if (vectors.shape().dim_size(0) != vectors.shape().dim_size(1)) continue;
      const int64_t n = vectors.shape().dim_size(0);
      std::vector<T> identity(n * n, T(0));
      for (int64_t i = 0; i < n; ++i) identity[i * n + i] = T(1);
      ExpectNear<T>(Product<T>(vectors, vectors, true), AsTensor<T>(std::move(identity), {n, n}));
    }
  }

  std::mt19937 generator_{7};
};

TEST_F(DecompositionTest, FactorsMultiplyToTheMatrix) {
  for (const bool full : {false, true}) {
    for (const auto& [rows, columns] : std::vector<std::pair<int64_t, int64_t>>{
             {5, 3}, {3, 5}, {70, 70}, {70, 40}, {40, 70}, {90, 20}, {20, 90}, {5, 40}, {40, 5}}) {
      ExpectFactors<double>(rows, columns, full);
      ExpectFactors<complex128>(rows, columns, full);
    }
  }
}

TEST_F(DecompositionTest, EigenvectorsAreMultipliedByTheirValues) {
  const Tensor a = Random<double>(60, 60), c = Random<complex128>(60, 60);
  std::vector<complex128> wide(a.data<double>(), a.data<double>() + a.NumElements());
  const Tensor widened = AsTensor<complex128>(std::move(wide), a.shape());
  for (const auto& [matrix, as_complex] : std::vector<std::pair<Tensor, Tensor>>{{a, widened}, {c, c}}) {
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> eig, RunOp("Eig", {matrix}, Attrs().Set("Tout", DT_COMPLEX128)));
    ExpectNear<complex128>(Product<complex128>(as_complex, eig[1]), ScaleColumns<complex128>(eig[1], eig[0]));
  }
  std::vector<double> sum(a.NumElements());
  for (int64_t i = 0; i < 60; ++i) {
    for (int64_t j = 0; j < 60; ++j) sum[i * 60 + j] = a.data<double>()[i * 60 + j] + a.data<double>()[j * 60 + i];
  }
  const Tensor symmetric = AsTensor<double>(std::move(sum), {60, 60});
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> eigh, RunOp("SelfAdjointEigV2", {symmetric}));
  ExpectNear<double>(Product<double>(symmetric, eigh[1]), ScaleColumns<double>(eigh[1], eigh[0]));
}

TEST_F(DecompositionTest, LuHasTheRowsInTheirNewOrder) {
  const Tensor a = Random<complex128>(100, 100);
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> lu, RunOp("Lu", {a}));
  std::vector<complex128> lower(10000), upper(10000), rows(10000);
  for (int64_t i = 0; i < 100; ++i) {
    for (int64_t j = 0; j < 100; ++j) {
      const complex128 x = lu[0].data<complex128>()[i * 100 + j];
      lower[i * 100 + j] = i == j ? 1 : i > j ? x : 0;
      upper[i * 100 + j] = i > j ? 0 : x;
      rows[i * 100 + j] = a.data<complex128>()[lu[1].data<int32_t>()[i] * 100 + j];
    }
  }
  const TensorShape shape({100, 100});
  ExpectNear<complex128>(
      Product<complex128>(AsTensor<complex128>(std::move(lower), shape), AsTensor<complex128>(std::move(upper), shape)),
      AsTensor<complex128>(std::move(rows), shape));
}

// The items of a batch run on several threads, which some builds of BLAS do not support.
TEST_F(DecompositionTest, ItemsOfABatchDoNotDisturbEachOther) {
  constexpr int64_t kItems = 64, kSize = 30, kElements = kSize * kSize;
  const Tensor rows = Random<complex128>(kItems * kSize, kSize);
  std::vector<complex128> values(rows.data<complex128>(), rows.data<complex128>() + kItems * kElements);
  const Tensor batch = AsTensor<complex128>(std::move(values), {kItems, kSize, kSize});
  for (const char* op : {"Qr", "Svd", "Lu", "MatrixInverse"}) {
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> together, RunOp(op, {batch}));
    for (int64_t i = 0; i < kItems; ++i) {
      const complex128* const item = rows.data<complex128>() + i * kElements;
      const Tensor one = AsTensor<complex128>(std::vector<complex128>(item, item + kElements), {kSize, kSize});
      ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> alone, RunOp(op, {one}));
      const complex128* const expected = together[0].data<complex128>() + i * alone[0].NumElements();
      EXPECT_TRUE(std::equal(expected, expected + alone[0].NumElements(), alone[0].data<complex128>())) << op << i;
    }
  }
}

TEST_F(DecompositionTest, LeastSquaresLeaveAnOrthogonalRest) {
  for (const bool fast : {true, false}) {
    const Tensor a = Random<double>(50, 20), x = Random<double>(20, 3), zero = AsScalar<double>(0);
    const Attrs attrs = Attrs().Set("fast", fast);
    ASSERT_OK_AND_ASSIGN(const Tensor found, RunOp1("MatrixSolveLs", {a, Product<double>(a, x), zero}, attrs));
    ExpectNear<double>(found, x);
    const Tensor wide = Random<double>(20, 50), b = Random<double>(20, 3);
    ASSERT_OK_AND_ASSIGN(const Tensor shortest, RunOp1("MatrixSolveLs", {wide, b, zero}, attrs));
    ExpectNear<double>(Product<double>(wide, shortest), b);
  }
  // Two equal columns share what one would have.
  const Tensor twins = AsTensor<float>({1, 1, 2, 2, 3, 3}, {3, 2}), b = AsTensor<float>({2, 4, 6}, {3, 1});
  EXPECT_THAT(RunOp("MatrixSolveLs", {twins, b, AsScalar<double>(0)}),
              StatusIs(absl::StatusCode::kInvalidArgument, testing::HasSubstr("rank deficient")));
  ASSERT_OK_AND_ASSIGN(const Tensor shared,
                       RunOp1("MatrixSolveLs", {twins, b, AsScalar<double>(0)}, Attrs().Set("fast", false)));
  ExpectTensorNear(shared, AsTensor<float>({1, 1}, {2, 1}), 1e-6, 1e-6);
}

TEST_F(DecompositionTest, DeprecatedNamesHaveKernels) {
  ASSERT_OK_AND_ASSIGN(const Tensor factor, RunOp1("BatchCholesky", {AsTensor<float>({4, 2, 2, 2}, {2, 2})}));
  ExpectTensorNear(factor, AsTensor<float>({2, 0, 1, 1}, {2, 2}), 1e-6, 1e-6);
}

}  // namespace
}  // namespace weir
