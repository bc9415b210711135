#include "core/kernel/op_kernel_testing.h"
#include "kernels/library.h"
#include "kernels/sparse/csr/csr_matrix.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

class CsrTest : public KernelTest {
 protected:
  void SetUp() override {
    Register(RegisterAllOps, RegisterAllKernels);
    // [[0, 1, 0], [2, 0, 3]]
    ASSERT_OK_AND_ASSIGN(
        matrix_, RunOp1("SparseTensorToCSRSparseMatrix", {AsTensor<int64_t>({0, 1, 1, 0, 1, 2}, {3, 2}),
                                                          AsTensor<float>({1, 2, 3}), AsTensor<int64_t>({2, 3})}));
  }
  Tensor Dense(const Tensor& matrix) {
    auto dense = RunOp1("CSRSparseMatrixToDense", {matrix}, Attrs().Set("type", DT_FLOAT));
    EXPECT_THAT(dense.status(), IsOk());
    return dense.ok() ? *dense : Tensor();
  }
  Tensor matrix_;
};

TEST_F(CsrTest, Transposed) {
  ASSERT_OK_AND_ASSIGN(const Tensor turned, RunOp1("SparseMatrixTranspose", {matrix_}, Attrs().Set("type", DT_FLOAT)));
  ExpectTensorEqual(Dense(turned), AsTensor<float>({0, 2, 1, 0, 0, 3}, {3, 2}));
}

TEST_F(CsrTest, Products) {
  const Tensor b = AsTensor<float>({1, 2, 3}, {3, 1});
  ASSERT_OK_AND_ASSIGN(const Tensor product, RunOp1("SparseMatrixMatMul", {matrix_, b}));
  ExpectTensorEqual(product, AsTensor<float>({2, 11}, {2, 1}));
  ASSERT_OK_AND_ASSIGN(const Tensor square, RunOp1("SparseMatrixSparseMatMul", {matrix_, matrix_},
                                                   Attrs().Set("type", DT_FLOAT).Set("transpose_b", true)));
  ExpectTensorEqual(Dense(square), AsTensor<float>({1, 0, 0, 13}, {2, 2}));
  EXPECT_THAT(RunOp("SparseMatrixMatMul", {matrix_, AsTensor<float>({1, 2}, {2, 1})}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("Inner product dimensions")));
  EXPECT_THAT(RunOp("SparseMatrixMatMul", {AsTensor<float>({1}), b}), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(CsrTest, FactorsOfPositiveDefiniteMatrices) {
  // [[4, 2, 0], [2, 5, 0], [0, 0, 9]]
  const Tensor indices = AsTensor<int64_t>({0, 0, 0, 1, 1, 0, 1, 1, 2, 2}, {5, 2}), size = AsTensor<int64_t>({3, 3});
  const auto factor = [&](float corner, std::vector<int32_t> order) -> absl::StatusOr<Tensor> {
    ASSIGN_OR_RETURN(const Tensor m,
                     RunOp1("SparseTensorToCSRSparseMatrix", {indices, AsTensor<float>({4, 2, 2, 5, corner}), size}));
    return RunOp1("SparseMatrixSparseCholesky", {m, AsTensor<int32_t>(std::move(order))},
                  Attrs().Set("type", DT_FLOAT));
  };
  ASSERT_OK_AND_ASSIGN(const Tensor plain, factor(9, {0, 1, 2}));
  ExpectTensorEqual(Dense(plain), AsTensor<float>({2, 0, 0, 1, 2, 0, 0, 0, 3}, {3, 3}));
  ASSERT_OK_AND_ASSIGN(const Tensor turned, factor(16, {2, 0, 1}));
  ExpectTensorEqual(Dense(turned), AsTensor<float>({4, 0, 0, 0, 2, 0, 0, 1, 2}, {3, 3}));
  EXPECT_THAT(factor(-9, {0, 1, 2}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("failed for batch index 0")));
  for (const std::vector<int32_t>& order : std::vector<std::vector<int32_t>>{{0, 1, 3}, {0, 1, 1}, {0, -1, 2}}) {
    EXPECT_THAT(factor(9, order), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("failed for batch index 0")));
  }
  EXPECT_THAT(factor(9, {0, 1}), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("2 != 3")));
  EXPECT_THAT(RunOp("SparseMatrixOrderingAMD", {matrix_}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("must be square; got: 2 != 3")));
  ASSERT_OK_AND_ASSIGN(const Tensor order, RunOp1("SparseMatrixOrderingAMD", {plain}));
  ExpectTensorEqual(order, AsTensor<int32_t>({2, 0, 1}));
}

TEST_F(CsrTest, EntriesInAnyOrder) {
  ASSERT_OK_AND_ASSIGN(const Tensor matrix, RunOp1("SparseTensorToCSRSparseMatrix",
                                                   {AsTensor<int64_t>({1, 2, 0, 1, 1, 0}, {3, 2}),
                                                    AsTensor<float>({3, 1, 2}), AsTensor<int64_t>({2, 3})}));
  ExpectTensorEqual(Dense(matrix), AsTensor<float>({0, 1, 0, 2, 0, 3}, {2, 3}));
}

TEST_F(CsrTest, WhatContradictsItselfIsRefused) {
  const Tensor index = AsTensor<int64_t>({0, 1}, {1, 2}), value = AsTensor<float>({1});
  for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{{0, 2},
                                                                             {2, 1},
                                                                             {-1, 2},
                                                                             {2},
                                                                             {1, 2, 3, 4},
                                                                             {int64_t{1} << 40, 2},
                                                                             {int64_t{1} << 62, int64_t{1} << 62},
                                                                             {INT64_MAX, 0}}) {
    EXPECT_THAT(RunOp("SparseTensorToCSRSparseMatrix", {index, value, AsTensor<int64_t>(sizes)}),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
  const Tensor none = AsTensor<int64_t>({}, {0, 3});
  EXPECT_THAT(RunOp("SparseTensorToCSRSparseMatrix", {none, AsTensor<float>({}), AsTensor<int64_t>({0, 2, 3})}),
              IsOk());
}

TEST_F(CsrTest, TheWireFormIsChecked) {
  const CsrMatrix* const matrix = matrix_.scalar<Variant>().get<CsrMatrix>();
  ASSERT_NE(matrix, nullptr);
  std::string metadata;
  std::vector<Tensor> tensors;
  ASSERT_THAT(matrix->Encode(&metadata, &tensors), IsOk());
  EXPECT_THAT(CsrMatrix::Decode(metadata, tensors).status(), IsOk());
  for (const Tensor& columns : {AsTensor<int32_t>({1, 0, 3}), AsTensor<int32_t>({-1, 0, 2}), AsTensor<int32_t>({1})}) {
    std::vector<Tensor> changed = tensors;
    changed[3] = columns;
    EXPECT_THAT(CsrMatrix::Decode(metadata, changed).status(), StatusIs(absl::StatusCode::kInvalidArgument));
  }
  for (const Tensor& rows : {AsTensor<int32_t>({0, 2, 1}), AsTensor<int32_t>({0, 1, 4}), AsTensor<int32_t>({0, 3})}) {
    std::vector<Tensor> changed = tensors;
    changed[2] = rows;
    EXPECT_THAT(CsrMatrix::Decode(metadata, changed).status(), StatusIs(absl::StatusCode::kInvalidArgument));
  }
  EXPECT_THAT(CsrMatrix::Decode("", tensors).status(), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace weir
