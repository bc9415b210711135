// Compares gradients through sparse matrices with central differences.
#include "tests/gradients/two_argument_test.h"

namespace weir {
namespace {

class SparseMatrixGradientsTest : public TwoArgumentGradientsTest {};

TEST_F(SparseMatrixGradientsTest, MatricesAndDenseOnes) {
  const Attrs type = Attrs().Set("type", DT_DOUBLE);
  const Tensor places = AsTensor<int64_t>({0, 1, 2, 0, 2, 1}, {3, 2});
  const auto sparse = [&] { return Call("DenseToCSRSparseMatrix", {x_, places}); };
  const auto dense = [&](const Output& matrix) { return Call("CSRSparseMatrixToDense", {matrix}, type); };
  Check({Square(dense(sparse()))});
  const Output turned = Call("SparseMatrixTranspose", {sparse()}, type);
  Check({Square(Output(Call("CSRSparseMatrixToSparseTensor", {turned}, type).op(), 1))});
  const Output wide = Call("Transpose", {x_, {1, 0}});
  Check({Square(Call("SparseMatrixMatMul", {sparse(), wide}))});
  Check({Square(Call("SparseMatrixMatMul", {sparse(), wide}, Attrs().Set("transpose_output", true)))});
  for (const char* how : {"transpose_a", "adjoint_a"}) {
    Check({Square(Call("SparseMatrixMatMul", {sparse(), x_}, Attrs().Set(how, true)))});
  }
  for (const char* how : {"transpose_b", "adjoint_b"}) {
    Check({Square(Call("SparseMatrixMatMul", {sparse(), x_}, Attrs().Set(how, true)))});
  }
}

TEST_F(SparseMatrixGradientsTest, ProductsOfSparseMatrices) {
  const Attrs type = Attrs().Set("type", DT_DOUBLE);
  const Tensor places = AsTensor<int64_t>({0, 1, 2, 0, 2, 1}, {3, 2}),
               diagonal = AsTensor<int64_t>({0, 1, 1, 0}, {2, 2});
  const Output small = Call("SparseTensorToCSRSparseMatrix", {diagonal, z_, AsTensor<int64_t>({2, 2})});
  const auto large = [&] { return Call("DenseToCSRSparseMatrix", {x_, places}); };
  const auto check = [&](const Output& product) { Check({Square(Call("CSRSparseMatrixToDense", {product}, type))}); };
  check(Call("SparseMatrixSparseMatMul", {large(), small}, type));
  check(Call("SparseMatrixSparseMatMul", {large(), large()}, Attrs(type).Set("transpose_a", true)));
  check(Call("SparseMatrixSparseMatMul", {large(), large()}, Attrs(type).Set("adjoint_b", true)));
  const Output both =
      Call("SparseMatrixSparseMatMul", {small, large()}, Attrs(type).Set("adjoint_a", true).Set("transpose_b", true));
  check(both);
}

// Complex factors tell adjoints from transposes.
TEST_F(SparseMatrixGradientsTest, ProductsOfComplexSparseMatrices) {
  const Tensor places = AsTensor<int64_t>({0, 1, 2, 0, 2, 1}, {3, 2});
  const Output x = Call("Complex", {x_, Call("Sin", {x_})}, Attrs().Set("Tout", DT_COMPLEX128));
  for (const char* how : {"transpose_a", "adjoint_a", "transpose_b", "adjoint_b"}) {
    const Output matrix = Call("DenseToCSRSparseMatrix", {x, places});
    const Output y = Call("SparseMatrixMatMul", {matrix, x}, Attrs().Set(how, true).Set("conjugate_output", true));
    Check(
        {Square(Call("Real", {y}, Attrs().Set("Tout", DT_DOUBLE))), Call("Imag", {y}, Attrs().Set("Tout", DT_DOUBLE))});
  }
}

}  // namespace
}  // namespace weir
