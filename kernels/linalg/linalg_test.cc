// Tests of linear algebra: signs of vectors, matrices without elements, einsum.
#include <cmath>

#include "kernels/op_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

class LinalgTest : public OpTest {};

// For ever, if each row or matrix were visited.
TEST_F(LinalgTest, MatricesWithoutElementsTakeNoTime) {
  const int64_t huge = int64_t{1} << 62;
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> qr, RunOp("Qr", {Tensor(DT_FLOAT, TensorShape({huge, 0}))}));
  EXPECT_EQ(qr[0].shape(), TensorShape({huge, 0}));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> svd, RunOp("Svd", {Tensor(DT_FLOAT, TensorShape({1 << 30, 0, 3}))}));
  EXPECT_EQ(svd[0].shape(), TensorShape({1 << 30, 0}));
}

TEST_F(LinalgTest, LinearAlgebra) {
  const Tensor a = F({4, 2, 2, 3}, {2, 2});
  ASSERT_OK_AND_ASSIGN(Tensor inverse, RunOp1("MatrixInverse", {a}));
  ExpectTensorNear(inverse, F({0.375f, -0.25f, -0.25f, 0.5f}, {2, 2}), 1e-6, 1e-6);
  ASSERT_OK_AND_ASSIGN(Tensor factor, RunOp1("Cholesky", {a}));
  ExpectTensorNear(factor, F({2, 0, 1, std::sqrt(2.0f)}, {2, 2}), 1e-6, 1e-6);
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> svd, RunOp("Svd", {F({3, 0, 0, -2}, {2, 2})}));
  ExpectTensorNear(svd[0], AsTensor<float>({3, 2}), 1e-6, 1e-6);
  const float inf = INFINITY;
  ASSERT_OK_AND_ASSIGN(Tensor determinant, RunOp1("MatrixDeterminant", {F({-inf, 0, 0, 1}, {2, 2})}));
  ExpectTensorEqual(determinant, AsScalar<float>(-inf));
  const Tensor singular = F({1, 2, 2, 4}, {2, 2});
  ExpectErrors({
      {"MatrixInverse", {singular}, "not invertible"},
      {"MatrixInverse", {F({1, 2}, {1, 2})}, "must be square"},
      {"MatrixInverse", {AsTensor<float>({1})}, "must have rank >= 2"},
      {"MatrixSolve", {a, F({1, 2, 3}, {3, 1})}, "incompatible"},
      {"MatrixSolve", {a, AsTensor<float>({1, 2})}, "All input tensors must have the same rank."},
      {"MatrixTriangularSolve", {a, AsTensor<float>({1, 2})}, "In[1] ndims must be >= 2: 1"},
      {"MatrixTriangularSolve", {F({1, 2}, {1, 2}), a}, "must be square (2 =/= 1)"},
      {"MatrixTriangularSolve", {a, F({1}, {1, 1})}, "In[0] mismatch In[1] shape: 2 vs. 1: [2,2] [1,1]"},
      {"BandedTriangularSolve", {F({}, {0, 2}), a}, "In[0] must not be an empty tensor"},
      {"MatMul", {AsTensor<float>({1, 2}), a}, "In[0] ndims must be >= 2"},
  });
}

// Signs, phases and order of the vectors are those of TensorFlow, in the precision of the elements.
TEST_F(LinalgTest, VectorsOfDecompositionsHaveTheSignsThatProgramsKnow) {
  const float root = std::sqrt(0.5f);
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> eigh, RunOp("SelfAdjointEigV2", {F({2, 1, 1, 2}, {2, 2})}));
  ExpectTensorNear(eigh[0], AsTensor<float>({1, 3}), 1e-6, 1e-6);
  ExpectTensorNear(eigh[1], F({-root, root, root, root}, {2, 2}), 1e-6, 1e-6);
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> svd, RunOp("Svd", {F({3, 0, 0, -2}, {2, 2})}));
  ExpectTensorNear(svd[1], F({1, 0, 0, -1}, {2, 2}), 1e-6, 1e-6);
  ExpectTensorNear(svd[2], F({1, 0, 0, 1}, {2, 2}), 1e-6, 1e-6);
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> full, RunOp("Svd", {F({}, {2, 0})}, Attrs().Set("full_matrices", true)));
  ExpectTensorNear(full[1], F({1, 0, 0, 1}, {2, 2}), 0, 0);
  EXPECT_EQ(full[2].shape(), TensorShape({0, 0}));
}

TEST_F(LinalgTest, EinsumContracts) {
  const auto run = [&](const std::string& equation, std::vector<TestInput> inputs) {
    const int64_t n = static_cast<int64_t>(inputs.size());
    return RunOp1("Einsum", std::move(inputs), Attrs().Set("equation", equation).Set("N", n));
  };
  const Tensor a = F({1, 2, 3, 4}, {2, 2});
  ASSERT_OK_AND_ASSIGN(Tensor trace, run("ii->", {a}));
  ExpectTensorEqual(trace, AsScalar<float>(5));
  ASSERT_OK_AND_ASSIGN(Tensor outer, run("ab,c->bc", {a, AsTensor<float>({1, 10})}));
  ExpectTensorEqual(outer, F({4, 40, 6, 60}, {2, 2}));
  ASSERT_OK_AND_ASSIGN(Tensor spread, run("...a,...a->...", {a, AsTensor<float>({1, 1})}));
  ExpectTensorEqual(spread, AsTensor<float>({3, 7}));
  // Sums of more numbers than can be counted, of which there are none.
  const Tensor none(DT_FLOAT, TensorShape({0, int64_t{1} << 32, int64_t{1} << 31}));
  ASSERT_OK_AND_ASSIGN(Tensor sums, run("abc->a", {none}));
  EXPECT_EQ(sums.shape(), TensorShape({0}));
  EXPECT_THAT(run("ab->c", {a}), StatusIs(absl::StatusCode::kInvalidArgument));
  // A space is a label, as in TensorFlow's op; its clients take them out.
  EXPECT_THAT(run("a b->ab", {a}), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("to have rank 3")));
  EXPECT_THAT(run("ab,bc->ac", {a, F({1, 2, 3}, {3, 1})}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("Expected dimension 2 at axis 0 of the input shaped [3,1]")));
}

}  // namespace
}  // namespace weir
