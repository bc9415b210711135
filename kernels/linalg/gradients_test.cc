// Compares the gradients of linear algebra with differences. differential.py compares values with TensorFlow.
#include "core/testing.h"
#include "tests/gradients/family_cases.h"
#include "tests/gradients/graph_function.h"

namespace weir {
namespace {

// A triangular matrix with a diagonal far from zero, and one that is positive definite, near random numbers.
OpArgument Regular(const TensorShape& shape) { return X(shape, 0.4, 1.6); }

std::vector<OpCase> LinalgSolverCases() {
  const Attrs adjoint = Attrs().Set("adjoint", true), upper = Attrs().Set("lower", false).Set("adjoint", true);
  return {
      Twice({"MatrixInverse", {X({3, 3})}}),
      {"MatrixInverse", {X({3, 3})}, adjoint},
      {"MatrixDeterminant", {X({2, 3, 3})}},
      Outputs({0, 1}, {"LogMatrixDeterminant", {X({3, 3})}}),
      Complex({"MatrixDeterminant", {X({3, 3})}}),
      {"MatrixSolve", {X({2, 3, 3}), X({2, 3, 1})}},
      {"MatrixSolve", {X({3, 3}), X({3, 2})}, adjoint},
      {"MatrixSolveLs", {X({4, 2}), X({4, 2}), C(Tensor::Scalar<double>(0.1))}},
      Complex({"MatrixSolveLs", {X({3, 2}), X({3, 1}), C(Tensor::Scalar<double>(0.1))}}),
      {"MatrixTriangularSolve", {Regular({2, 3, 3}), X({3, 2})}},
      {"MatrixTriangularSolve", {Regular({3, 3}), X({3, 2})}, upper},
      {"BandedTriangularSolve", {Regular({2, 2, 4}), X({4, 3})}},
      {"BandedTriangularSolve", {Regular({3, 4}), X({2, 4, 1})}, upper},
      Twice({"TridiagonalMatMul", {X({2, 1, 4}), X({2, 1, 4}), X({2, 1, 4}), X({2, 4, 3})}}),
      Complex({"TridiagonalMatMul", {X({1, 3}), X({1, 3}), X({1, 3}), X({3, 2})}}),
      {"TridiagonalMatMul", {X({1, 1}), X({1, 1}), X({1, 1}), X({1, 2})}},
      Twice({"TridiagonalSolve", {X({2, 3, 4}), X({2, 4, 2})}}),
      Complex({"TridiagonalSolve", {X({3, 3}), X({3, 1})}}),
      {"TridiagonalSolve", {X({3, 4}, 0.5, 1.9), X({4, 2})}, Attrs().Set("partial_pivoting", false)},
  };
}

std::vector<OpCase> LinalgFactorCases() {
  return {
      {"Qr", {X({3, 2})}},
      {"Qr", {X({2, 3, 3})}},
      FirstOutput({"Svd", {X({3, 2})}}),
      FirstOutput({"SelfAdjointEigV2", {X({3, 3})}}),
      FirstOutput({"SelfAdjointEigV2", {X({2, 2, 2})}, Attrs().Set("compute_v", false)}),
      FirstOutput({"Eig", {X({2, 3, 3})}, Attrs().Set("Tout", DT_COMPLEX128)}),
      FirstOutput({"Eig", {X({3, 3})}, Attrs().Set("Tout", DT_COMPLEX128).Set("compute_v", false)}),
      FirstOutput(Complex({"Eig", {X({3, 3})}, Attrs().Set("Tout", DT_COMPLEX128)})),
  };
}

}  // namespace

std::vector<OpCase> LinalgGradientCases() { return Joined({LinalgSolverCases(), LinalgFactorCases()}); }

namespace {

TEST(LinalgGradients, Solver) { CheckCases(LinalgSolverCases()); }
TEST(LinalgGradients, Factor) { CheckCases(LinalgFactorCases()); }

class FactorGradientsTest : public ::testing::Test {
 protected:
  Output Call(const std::string& op, const std::vector<Input>& inputs, const Attrs& attrs = {}) {
    tensorflow::NodeDef def = attrs.node();
    def.set_op(op);
    std::vector<InputList> lists;
    for (const Input& input : inputs) lists.push_back({input});
    return Output(scope_.AddOp(std::move(def), lists), 0);
  }
  // Positive definite.
  Output Gram() {
    const Output product = Call("BatchMatMulV2", {x_, x_}, Attrs().Set("adj_y", true));
    return Call("AddV2", {product, Call("MatrixDiag", {{4.0, 5.0, 6.0}})});
  }
  void Check(const Output& y) {
    ASSERT_THAT(scope_.status(), IsOk());
    CheckGradients(scope_, {x_}, {RandomTensor(DT_DOUBLE, {2, 3, 3}, -1, 1, 4)}, {y});
  }
  Scope scope_ = Scope::NewRoot();
  Output x_ = Argument(scope_, 0, DT_DOUBLE);
};

// Only symmetric matrices have this factor.
TEST_F(FactorGradientsTest, Cholesky) { Check(Call("Cholesky", {Gram()})); }

// Random ones need not have a root.
TEST_F(FactorGradientsTest, MatrixSquareRoot) {
  Check(Call("MatrixSquareRoot", {Gram()}));
  const Output bent = Call("AddV2", {Gram(), Call("Mul", {x_, 0.3})});
  Check(Call("MatrixSquareRoot", {bent}));
  const Output turned = Call("Complex", {bent, Call("Mul", {x_, 0.4})}, Attrs().Set("Tout", DT_COMPLEX128));
  Check(Call("MatrixSquareRoot", {turned}));
}

// The phase of an eigenvector is arbitrary, its absolute values are not.
TEST_F(FactorGradientsTest, Eigenvectors) {
  const Output real = Call("Eig", {x_}, Attrs().Set("Tout", DT_COMPLEX128));
  Check(Call("ComplexAbs", {Output(real.op(), 1)}, Attrs().Set("Tout", DT_DOUBLE)));
  const Output turned = Call("Complex", {x_, Call("Mul", {x_, 0.4})}, Attrs().Set("Tout", DT_COMPLEX128));
  const Output complex = Call("Eig", {turned}, Attrs().Set("Tout", DT_COMPLEX128));
  Check(Call("ComplexAbs", {Output(complex.op(), 1)}, Attrs().Set("Tout", DT_DOUBLE)));
}

}  // namespace
}  // namespace weir
