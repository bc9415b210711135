#include "kernels/op_testing.h"

namespace weir {
namespace {

class DiagonalBandTest : public OpTest {};

TEST_F(DiagonalBandTest, BandsOfDiagonals) {
  const Tensor packed = F({1, 2, 0, 3, 4, 5}, {2, 3}), zero = AsScalar<float>(9);
  ASSERT_OK_AND_ASSIGN(Tensor matrix, RunOp1("MatrixDiagV3", {packed, Ints({-1, 0}), Int(-1), Int(-1), zero}));
  ExpectTensorEqual(matrix, F({1, 9, 9, 3, 2, 9, 9, 4, 0}, {3, 3}));
  ASSERT_OK_AND_ASSIGN(Tensor part, RunOp1("MatrixDiagPartV3", {matrix, Ints({-1, 0}), AsScalar<float>(5)}));
  ExpectTensorEqual(part, packed);
  ExpectErrors({
      {"MatrixDiagV3", {packed, Ints({-1, 0}), Int(2), Int(-1), zero}, "rows is too small"},
      {"MatrixDiagV3", {packed, Ints({-2, 0}), Int(-1), Int(-1), zero}, "number of diagonals"},
      {"MatrixDiagV3", {packed, Ints({1, 0}), Int(-1), Int(-1), zero}, "must not be larger"},
      {"MatrixDiagPartV3", {matrix, Ints({3}), zero}, "out of bound"},
      {"MatrixDiagPartV3", {matrix, Ints({9, 1}), zero}, "lower_diag_index is out of bound: 9"},
      {"MatrixDiagPartV3",
       {matrix, Ints({1, 0}), zero},
       "lower_diag_index must not be larger than upper_diag_index: 1 > 0"},
      {"MatrixDiagPartV3", {matrix, Ints({0, 1, 2}), zero}, "only one or two elements"},
      {"MatrixDiagPartV3", {matrix, Ints({0}), AsTensor<float>({1, 2})}, "Padding must be scalar."},
      {"MatrixSetDiagV3", {matrix, F({1, 2}, {2}), Int(0)}, "Expected diagonal shape"},
      {"MatrixSetDiagV3", {matrix, F({1, 2}, {1, 2}), Ints({0, 1})}, "The number of diagonals provided in `diag`"},
  });
}

}  // namespace
}  // namespace weir
