#include <algorithm>
#include <cmath>
#include <limits>

#include "core/tensor/numeric_types.h"
#include "kernels/device/kernel_inputs_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

using ReductionTest = KernelInputsTest;

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

TEST_F(ReductionTest, RejectsBadAxes) {
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

TEST_F(ReductionTest, ArgMaxOfRows) {
  const int64_t n = 1003;
  Tensor x = Floats({6, n});
  float* const rows = x.data<float>();
  std::fill_n(rows + 1 * n, n, kNaN);
  std::fill_n(rows + 2 * n, n, -kInfinity);
  std::fill_n(rows + 3 * n, 700, kNaN);
  std::fill_n(rows + 3 * n + 700, 303, -kInfinity);
  rows[4 * n + 900] = rows[4 * n + 901] = 2;
  rows[5 * n] = kNaN;
  rows[5 * n + n - 1] = kInfinity;
  ASSERT_OK_AND_ASSIGN(Tensor most, RunOp1("ArgMax", {x, AsScalar<int32_t>(1)}));
  EXPECT_EQ(most.data<int64_t>()[0], std::max_element(rows, rows + n) - rows);
  const std::vector<int64_t> rest(most.data<int64_t>() + 1, most.data<int64_t>() + 6);
  EXPECT_EQ(rest, (std::vector<int64_t>{0, 0, 700, 900, n - 1}));
  ASSERT_OK_AND_ASSIGN(Tensor least, RunOp1("ArgMin", {x, AsScalar<int32_t>(1)}));
  EXPECT_EQ(least.data<int64_t>()[0], std::min_element(rows, rows + n) - rows);
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

TEST_F(ReductionTest, ProductsThatUnderflowAreZero) {
  Tensor x(DT_FLOAT, TensorShape({3, 1000}));
  std::fill_n(x.data<float>(), 3000, 0.5f);
  ASSERT_OK_AND_ASSIGN(Tensor product, RunOp1("Prod", {x, AsScalar<int32_t>(1)}));
  ExpectTensorEqual(product, AsTensor<float>({0, 0, 0}));
  ASSERT_OK_AND_ASSIGN(Tensor columns, RunOp1("Prod", {x, AsScalar<int32_t>(0)}));
  EXPECT_EQ(columns.data<float>()[999], 0.125f);
  // Denormals are on again for the next op on this thread.
  ASSERT_OK_AND_ASSIGN(Tensor half, RunOp1("Mul", {AsScalar<float>(1e-38f), AsScalar<float>(0.5f)}));
  EXPECT_GT(half.scalar<float>(), 0);
}

TEST_F(ReductionTest, ExtremesOfOddSizes) {
  Tensor x = Floats({1'000'003});
  ASSERT_OK_AND_ASSIGN(Tensor most, RunOp1("Max", {x, AsScalar<int32_t>(0)}));
  EXPECT_EQ(most.scalar<float>(), *std::max_element(x.data<float>(), x.data<float>() + x.NumElements()));
  x.data<float>()[777'777] = kNaN;
  ASSERT_OK_AND_ASSIGN(most, RunOp1("Max", {x, AsScalar<int32_t>(0)}));
  EXPECT_TRUE(std::isnan(most.scalar<float>()));
  Tensor flags(DT_BOOL, TensorShape({100'003}));
  std::fill_n(flags.data<bool>(), 100'003, true);
  ASSERT_OK_AND_ASSIGN(Tensor all, RunOp1("All", {flags, AsScalar<int32_t>(0)}));
  EXPECT_TRUE(all.scalar<bool>());
  flags.data<bool>()[100'002] = false;
  ASSERT_OK_AND_ASSIGN(all, RunOp1("All", {flags, AsScalar<int32_t>(0)}));
  EXPECT_FALSE(all.scalar<bool>());
}

}  // namespace
}  // namespace weir
