#include "tests/gradients/family_cases.h"

namespace weir {
namespace {

// Three entries of a [3,4] matrix.
OpArgument ThreeEntries() { return LongRows({0, 1, 1, 0, 1, 3}, 2); }
OpArgument ThreeByFour() { return Longs({3, 4}); }

}  // namespace

std::vector<OpCase> SparseGradientCases() {
  return {
      Twice({"SparseToDense", {ThreeEntries(), ThreeByFour(), X({3}), X({})}}),
      Twice({"SparseToDense", {C(Tensor::Vector<int64_t>({0, 2})), Longs({4}), X({}), X({})}}),
      {"SparseReorder", {LongRows({1, 3, 0, 1, 1, 0}, 2), X({3}), ThreeByFour()}},
      {"SparseSlice", {ThreeEntries(), X({3}), ThreeByFour(), Longs({1, 0}), Longs({2, 2})}},
      {
          "SparseAdd",
          {ThreeEntries(), X({3}), ThreeByFour(), LongRows({0, 1, 2, 2}, 2), X({2}), ThreeByFour(),
           C(AsScalar<double>(0))},
      },
      Twice({"SparseTensorDenseAdd", {ThreeEntries(), X({3}), ThreeByFour(), X({3, 4})}}),
      {"SparseFillEmptyRows", {ThreeEntries(), X({3}), ThreeByFour(), X({})}},
      Twice({"SparseReduceSum", {ThreeEntries(), X({3}), ThreeByFour(), Ints({1})}}),
      Twice({"SparseReduceSum", {ThreeEntries(), X({3}), ThreeByFour(), Ints({-2})}, Attrs().Set("keep_dims", true)}),
      Twice({"SparseTensorDenseMatMul", {ThreeEntries(), X({3}), ThreeByFour(), X({4, 2})}}),
      Twice({"SparseTensorDenseMatMul",
             {ThreeEntries(), X({3}), ThreeByFour(), X({2, 3})},
             Attrs().Set("adjoint_a", true).Set("adjoint_b", true)}),
      Complex({"SparseTensorDenseMatMul",
               {ThreeEntries(), X({3}), ThreeByFour(), X({3, 2})},
               Attrs().Set("adjoint_a", true)}),
      Twice({"SparseDenseCwiseMul", {ThreeEntries(), X({3}), ThreeByFour(), X({3, 4})}}),
      Twice({"SparseDenseCwiseMul", {ThreeEntries(), X({3}), ThreeByFour(), X({4})}}),
      Twice({"SparseDenseCwiseDiv", {ThreeEntries(), X({3}), ThreeByFour(), X({3, 1}, 0.5, 2)}}),
      {"SparseSoftmax", {ThreeEntries(), X({3}), ThreeByFour()}},
      Single({"SparseMatMul", {X({2, 3}), X({3, 4})}}),
      Single({"SparseMatMul", {X({3, 2}), X({4, 3})}, Attrs().Set("transpose_a", true).Set("transpose_b", true)}),
  };
}

namespace {

TEST(SparseGradients, AgreeWithNumericOnes) { CheckCases(SparseGradientCases()); }

}  // namespace
}  // namespace weir
