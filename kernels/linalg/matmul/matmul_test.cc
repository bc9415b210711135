#include "kernels/device/kernel_inputs_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

using MatMulTest = KernelInputsTest;

TEST_F(MatMulTest, MatMulInEveryOrientation) {
  const Tensor a = AsTensor<float>({1, 2, 3, 4, 5, 6}, {2, 3}), at = AsTensor<float>({1, 4, 2, 5, 3, 6}, {3, 2});
  const Tensor b = AsTensor<float>({7, 8, 9, 10, 11, 12}, {3, 2}), bt = AsTensor<float>({7, 9, 11, 8, 10, 12}, {2, 3});
  const Tensor expected = AsTensor<float>({58, 64, 139, 154}, {2, 2});
  for (bool ta : {false, true}) {
    for (bool tb : {false, true}) {
      ASSERT_OK_AND_ASSIGN(Tensor c, RunOp1("MatMul", {ta ? at : a, tb ? bt : b},
                                            Attrs().Set("transpose_a", ta).Set("transpose_b", tb)));
      ExpectTensorEqual(c, expected);
    }
  }
  EXPECT_THAT(RunOp1("MatMul", {a, a}), StatusIs(kInvalid, HasSubstr("Matrix size-incompatible")));
  ASSERT_OK_AND_ASSIGN(Tensor zero, RunOp1("MatMul", {AsTensor<float>({}, {2, 0}), AsTensor<float>({}, {0, 2})}));
  ExpectTensorEqual(zero, AsTensor<float>({0, 0, 0, 0}, {2, 2}));
}

TEST_F(MatMulTest, LargeMatMulMatchesItsDefinition) {
  const int64_t m = 150, k = 200, n = 130;
  Tensor a(DT_FLOAT, {m, k}), b(DT_FLOAT, {k, n});
  for (int64_t i = 0; i < m * k; ++i) a.data<float>()[i] = static_cast<float>(i % 7) - 3;
  for (int64_t i = 0; i < k * n; ++i) b.data<float>()[i] = static_cast<float>(i % 5) - 2;
  ASSERT_OK_AND_ASSIGN(Tensor c, RunOp1("MatMul", {a, b}));
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      float expected = 0;
      for (int64_t l = 0; l < k; ++l) expected += a.data<float>()[i * k + l] * b.data<float>()[l * n + j];
      ASSERT_EQ(c.data<float>()[i * n + j], expected);
    }
  }
}

// Sums of small integers are exact in float, so that both round once.
TEST_F(MatMulTest, MatMulOf16BitsRoundsWhatFloatGives) {
  const int64_t m = 70, k = 64, n = 48;
  Tensor a(DT_FLOAT, {m, k}), b(DT_FLOAT, {k, n});
  for (int64_t i = 0; i < m * k; ++i) a.data<float>()[i] = static_cast<float>(i % 7) - 3;
  for (int64_t i = 0; i < k * n; ++i) b.data<float>()[i] = static_cast<float>(i % 5) - 2;
  ASSERT_OK_AND_ASSIGN(const Tensor wide, RunOp1("MatMul", {a, b}));
  const Tensor swap = AsTensor<int32_t>({1, 0});
  ASSERT_OK_AND_ASSIGN(const Tensor at, RunOp1("Transpose", {a, swap}));
  ASSERT_OK_AND_ASSIGN(const Tensor bt, RunOp1("Transpose", {b, swap}));
  for (const DataType type : {DT_BFLOAT16, DT_HALF}) {
    const auto narrow = [&](const Tensor& x) { return *RunOp1("Cast", {x}, Attrs().Set("DstT", type)); };
    for (bool ta : {false, true}) {
      for (bool tb : {false, true}) {
        ASSERT_OK_AND_ASSIGN(Tensor c, RunOp1("MatMul", {narrow(ta ? at : a), narrow(tb ? bt : b)},
                                              Attrs().Set("transpose_a", ta).Set("transpose_b", tb)));
        ExpectTensorEqual(c, narrow(wide));
      }
    }
  }
}

}  // namespace
}  // namespace weir
