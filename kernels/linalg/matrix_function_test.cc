// Tests of matrix square roots and tridiagonal systems.
#include <cmath>

#include "kernels/op_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

class MatrixFunctionTest : public OpTest {};

TEST_F(MatrixFunctionTest, MatrixFunctions) {
  const Tensor a = F({4, 1, 2, 3}, {2, 2});
  ASSERT_OK_AND_ASSIGN(Tensor root, RunOp1("MatrixSquareRoot", {a}));
  ASSERT_OK_AND_ASSIGN(Tensor square, RunOp1("MatMul", {root, root}));
  ExpectTensorNear(square, a, 1e-5, 1e-5);
  ASSERT_OK_AND_ASSIGN(root, RunOp1("MatrixSquareRoot", {F({-4, 0, 0, 9}, {2, 2})}));  // no real matrix
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(std::isnan(root.data<float>()[i]));
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> lu, RunOp("Lu", {a}));
  ExpectTensorNear(lu[0], F({4, 1, 0.5f, 2.5f}, {2, 2}), 1e-6, 1e-6);
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> eig, RunOp("Eig", {a}, Attrs().Set("Tout", DT_COMPLEX64)));
  const complex64* const e = eig[0].data<complex64>();
  EXPECT_NEAR(e[0].real(), 5, 1e-5);
  EXPECT_NEAR((e[0] + e[1]).real(), 7, 1e-5);
  EXPECT_NEAR((e[0] * e[1]).real(), 10, 1e-4);
  EXPECT_THAT(RunOp("Lu", {F({0, 0, 0, 0}, {2, 2})}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not invertible")));
  EXPECT_THAT(RunOp("Eig", {F({NAN, 0, 0, 0}, {2, 2})}, Attrs().Set("Tout", DT_COMPLEX64)),
              StatusIs(absl::StatusCode::kInvalidArgument));
  const Tensor diagonals = F({1, 1, 0, 4, 4, 4, 0, 1, 1}, {3, 3}), right = F({1, 2, 3}, {3, 1});
  ASSERT_OK_AND_ASSIGN(Tensor x, RunOp1("TridiagonalSolve", {diagonals, right}));
  const auto row = [&](std::vector<float> values) { return F(std::move(values), {1, 3}); };
  ASSERT_OK_AND_ASSIGN(Tensor product,
                       RunOp1("TridiagonalMatMul", {row({1, 1, 0}), row({4, 4, 4}), row({0, 1, 1}), x}));
  ExpectTensorNear(product, right, 1e-5, 1e-5);
  const Tensor singular = F({1, 0, 1, 1, 0, 1}, {3, 2}), sides = F({1, 2}, {2, 1});
  ASSERT_OK_AND_ASSIGN(x, RunOp1("TridiagonalSolve", {singular, sides}));
  EXPECT_TRUE(std::isnan(x.data<float>()[0]) && std::isnan(x.data<float>()[1]));
  ASSERT_OK_AND_ASSIGN(x, RunOp1("TridiagonalSolve", {singular, sides}, Attrs().Set("perturb_singular", true)));
  EXPECT_TRUE(std::isfinite(x.data<float>()[0]) && std::isfinite(x.data<float>()[1]));
  EXPECT_THAT(RunOp("TridiagonalSolve", {singular, right}), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace weir
