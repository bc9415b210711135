#include <cmath>
#include <limits>

#include "core/numeric_types.h"
#include "core/op_kernel_testing.h"
#include "kernels/library.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

class ReductionTest : public KernelTest {
  void SetUp() override { Register(RegisterAllOps, RegisterAllKernels); }
};

TEST_F(ReductionTest, FoldsAnyAxes) {
  std::vector<float> values(24);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const Tensor x = AsTensor<float>(values, {2, 3, 4});
  struct Case {
    std::vector<int32_t> axes;
    bool keep_dims;
    Tensor expected;
  };
  const Case cases[] = {
      {{0, 1, 2}, false, AsScalar<float>(276)},
      {{}, false, x},
      {{0, 2}, false, AsTensor<float>({60, 92, 124})},
      {{0, 2}, true, AsTensor<float>({60, 92, 124}, {1, 3, 1})},
      {{-1, 1}, false, AsTensor<float>({66, 210})},
      {{1}, false, AsTensor<float>({12, 15, 18, 21, 48, 51, 54, 57}, {2, 4})},
  };
  for (const Case& c : cases) {
    ASSERT_OK_AND_ASSIGN(Tensor sum,
                         RunOp1("Sum", {x, AsTensor<int32_t>(c.axes)}, Attrs().Set("keep_dims", c.keep_dims)));
    ExpectTensorEqual(sum, c.expected);
  }
}

TEST_F(ReductionTest, RefusesBadAxes) {
  const Tensor x = AsTensor<float>({1, 2, 3, 4}, {2, 2});
  for (int64_t axis : {int64_t{2}, int64_t{-3}, int64_t{1} << 40, std::numeric_limits<int64_t>::min()}) {
    EXPECT_THAT(RunOp1("Sum", {x, AsScalar<int64_t>(axis)}),
                StatusIs(kInvalid, HasSubstr("Invalid reduction dimension")));
  }
  EXPECT_THAT(RunOp1("Sum", {x, AsTensor<int32_t>({0, -2})}), StatusIs(kInvalid, HasSubstr("duplicate")));
}

TEST_F(ReductionTest, OfNothing) {
  const Tensor none = AsTensor<float>({}, {0, 2});
  const Tensor rows = AsScalar<int32_t>(0);
  ASSERT_OK_AND_ASSIGN(Tensor sum, RunOp1("Sum", {none, rows}));
  ExpectTensorEqual(sum, AsTensor<float>({0, 0}));
  ASSERT_OK_AND_ASSIGN(Tensor product, RunOp1("Prod", {none, rows}));
  ExpectTensorEqual(product, AsTensor<float>({1, 1}));
  ASSERT_OK_AND_ASSIGN(Tensor max, RunOp1("Max", {none, rows}));
  EXPECT_EQ(max.data<float>()[0], -std::numeric_limits<float>::infinity());
  ASSERT_OK_AND_ASSIGN(Tensor mean, RunOp1("Mean", {AsTensor<int32_t>({}, {0}), rows}));
  ExpectTensorEqual(mean, AsScalar<int32_t>(0));
}

// The layouts that threads share: one long row, few columns with many rows, many columns.
TEST_F(ReductionTest, LargeSumsAreExact) {
  struct Case {
    TensorShape shape;
    int32_t axis;
  };
  for (const Case& c : {Case{{1, 1000000}, 1}, Case{{400000, 3}, 0}, Case{{1000, 1000}, 0}, Case{{1000, 1000}, 1}}) {
    Tensor x(DT_FLOAT, c.shape);
    for (float& v : x.flat<float>()) v = 0.5f;
    ASSERT_OK_AND_ASSIGN(Tensor sum, RunOp1("Sum", {x, AsScalar<int32_t>(c.axis)}));
    for (float v : sum.flat<float>()) ASSERT_EQ(v, 0.5f * c.shape.dim_size(c.axis)) << c.shape.ToString();
  }
}

// Wherever it stands.
TEST_F(ReductionTest, TheExtremeIsFoundAndANaNWins) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  for (const int n : {1, 31, 32, 33, 1000}) {
    for (int at = 0; at < n; at += 7) {
      Tensor x(DT_FLOAT, {n});
      for (int i = 0; i < n; ++i) x.data<float>()[i] = -static_cast<float>((i * 37) % 1001);
      const auto fold = [&](const char* op, float value) {
        x.data<float>()[at] = value;
        return RunOp1(op, {x, AsScalar<int32_t>(0)})->scalar<float>();
      };
      ASSERT_EQ(fold("Max", 5), 5) << n << " " << at;
      ASSERT_EQ(fold("Min", -2000), -2000) << n << " " << at;
      ASSERT_TRUE(std::isnan(fold("Max", kNaN))) << n << " " << at;
      ASSERT_TRUE(std::isnan(fold("Min", kNaN))) << n << " " << at;
    }
  }
}

TEST_F(ReductionTest, AllAndAnyLookAtEveryElement) {
  for (const int n : {1, 2, 63, 64, 200}) {
    for (int at = 0; at < n; ++at) {
      Tensor most(DT_BOOL, {n}), few(DT_BOOL, {n});
      std::fill_n(most.data<bool>(), n, true);
      std::fill_n(few.data<bool>(), n, false);
      EXPECT_TRUE(RunOp1("All", {most, AsScalar<int32_t>(0)})->scalar<bool>());
      EXPECT_FALSE(RunOp1("Any", {few, AsScalar<int32_t>(0)})->scalar<bool>());
      most.data<bool>()[at] = false;
      few.data<bool>()[at] = true;
      EXPECT_FALSE(RunOp1("All", {most, AsScalar<int32_t>(0)})->scalar<bool>()) << n << " " << at;
      EXPECT_TRUE(RunOp1("Any", {few, AsScalar<int32_t>(0)})->scalar<bool>()) << n << " " << at;
    }
  }
}

TEST_F(ReductionTest, BFloat16AccumulatesInFloat) {
  const Tensor x = AsTensor<bfloat16>(std::vector<bfloat16>(4096, bfloat16(1.0f)));
  ASSERT_OK_AND_ASSIGN(Tensor sum, RunOp1("Sum", {x, AsScalar<int32_t>(0)}));
  EXPECT_EQ(static_cast<float>(sum.scalar<bfloat16>()), 4096.0f);
}

TEST_F(ReductionTest, ArgMaxTakesTheFirst) {
  const Tensor x = AsTensor<float>({1, 5, 5, 7, 2, 7}, {2, 3});
  ASSERT_OK_AND_ASSIGN(Tensor columns, RunOp1("ArgMax", {x, AsScalar<int32_t>(-1)}));
  ExpectTensorEqual(columns, AsTensor<int64_t>({1, 0}));
  ASSERT_OK_AND_ASSIGN(Tensor rows, RunOp1("ArgMin", {x, AsScalar<int32_t>(0)}));
  ExpectTensorEqual(rows, AsTensor<int64_t>({0, 1, 0}));
  EXPECT_THAT(RunOp1("ArgMax", {x, AsScalar<int32_t>(2)}),
              StatusIs(kInvalid, HasSubstr("Expected dimension in the range")));
  EXPECT_THAT(RunOp1("ArgMax", {AsTensor<float>({}, {2, 0}), AsScalar<int32_t>(1)}),
              StatusIs(kInvalid, HasSubstr("empty")));
}

TEST_F(ReductionTest, CumulativeSums) {
  const Tensor x = AsTensor<int32_t>({1, 2, 3}), axis = AsScalar<int32_t>(0);
  struct Case {
    bool exclusive, reverse;
    std::vector<int32_t> expected;
  };
  for (const Case& c : {Case{false, false, {1, 3, 6}}, Case{true, false, {0, 1, 3}}, Case{false, true, {6, 5, 3}},
                        Case{true, true, {5, 3, 0}}}) {
    ASSERT_OK_AND_ASSIGN(Tensor out,
                         RunOp1("Cumsum", {x, axis}, Attrs().Set("exclusive", c.exclusive).Set("reverse", c.reverse)));
    ExpectTensorEqual(out, AsTensor<int32_t>(c.expected));
  }
}

TEST_F(ReductionTest, MatMulInEveryOrientation) {
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

TEST_F(ReductionTest, LargeMatMulMatchesItsDefinition) {
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
TEST_F(ReductionTest, MatMulOf16BitsRoundsWhatFloatGives) {
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

TEST_F(ReductionTest, GradientsOfRowsWithoutWidthTakeNoMemory) {
  const Tensor gradient(DT_FLOAT, TensorShape({int64_t{1} << 45, 0}));
  const Tensor one = AsTensor<int32_t>({1});
  ASSERT_OK_AND_ASSIGN(const Tensor rows, RunOp1("SparseSegmentMeanGrad", {gradient, one, one, AsScalar<int32_t>(2)}));
  EXPECT_EQ(rows.shape(), TensorShape({2, 0}));
}

TEST_F(ReductionTest, SegmentsOutOfRangeAreRefused) {
  const Tensor data = AsTensor<float>({1, 2, 3});
  ASSERT_OK_AND_ASSIGN(Tensor sums,
                       RunOp1("UnsortedSegmentSum", {data, AsTensor<int32_t>({1, -1, 1}), AsScalar<int32_t>(2)}));
  ExpectTensorEqual(sums, AsTensor<float>({0, 4}));
  EXPECT_THAT(RunOp1("UnsortedSegmentSum", {data, AsTensor<int32_t>({0, 1, 2}), AsScalar<int32_t>(2)}),
              StatusIs(kInvalid, HasSubstr("is out of range [0, 2)")));
  EXPECT_THAT(RunOp1("SegmentSum", {data, AsTensor<int32_t>({1, 0, 2})}),
              StatusIs(kInvalid, HasSubstr("not increasing")));
  EXPECT_THAT(RunOp1("SparseSegmentSum", {data, AsTensor<int32_t>({3}), AsTensor<int32_t>({0})}),
              StatusIs(kInvalid, HasSubstr("out of range")));
  const Tensor largest = AsTensor<int64_t>({std::numeric_limits<int64_t>::max()});
  EXPECT_THAT(RunOp1("SegmentSum", {AsTensor<float>({1}), largest}), StatusIs(kInvalid, HasSubstr("is too large")));
  EXPECT_THAT(RunOp1("SparseSegmentSumWithNumSegments", {data, AsTensor<int32_t>({0}), largest, AsScalar<int32_t>(2)}),
              StatusIs(kInvalid, HasSubstr("is too large")));
}

}  // namespace
}  // namespace weir
