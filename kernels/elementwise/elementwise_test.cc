#include <cmath>
#include <limits>

#include "core/tensor/numeric_types.h"
#include "kernels/op_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

class ElementwiseTest : public OpTest {};

TEST_F(ElementwiseTest, Broadcasts) {
  const Tensor column = AsTensor<float>({1, 2, 3}, {3, 1}), row = AsTensor<float>({10, 20}, {1, 2});
  ASSERT_OK_AND_ASSIGN(Tensor sum, RunOp1("AddV2", {column, row}));
  ExpectTensorEqual(sum, AsTensor<float>({11, 21, 12, 22, 13, 23}, {3, 2}));
  ASSERT_OK_AND_ASSIGN(Tensor difference, RunOp1("Sub", {AsScalar<float>(1), row}));
  ExpectTensorEqual(difference, AsTensor<float>({-9, -19}, {1, 2}));
  ASSERT_OK_AND_ASSIGN(Tensor empty, RunOp1("Mul", {AsTensor<float>({}, {0, 1}), row}));
  EXPECT_EQ(empty.shape(), TensorShape({0, 2}));
}

TEST_F(ElementwiseTest, BroadcastsDimensionsBetweenOthers) {
  const Tensor x = AsTensor<int32_t>({1, 2, 3, 4}, {2, 1, 2}), y = AsTensor<int32_t>({10, 20, 30}, {3, 1});
  ASSERT_OK_AND_ASSIGN(Tensor sum, RunOp1("AddV2", {x, y}));
  ExpectTensorEqual(sum, AsTensor<int32_t>({11, 12, 21, 22, 31, 32, 13, 14, 23, 24, 33, 34}, {2, 3, 2}));
}

TEST_F(ElementwiseTest, NamesShapesThatDoNotMatch) {
  EXPECT_THAT(RunOp1("AddV2", {AsTensor<float>({1, 2}), AsTensor<float>({1, 2, 3})}),
              StatusIs(kInvalid, HasSubstr("Incompatible shapes: [2] vs. [3]")));
}

TEST_F(ElementwiseTest, EqualityMayTolerateShapes) {
  const Tensor x = AsTensor<float>({1, 2}), y = AsTensor<float>({1, 2, 3});
  const Attrs tolerant = Attrs().Set("incompatible_shape_error", false);
  ASSERT_OK_AND_ASSIGN(Tensor equal, RunOp1("Equal", {x, y}, tolerant));
  ExpectTensorEqual(equal, AsScalar<bool>(false));
  ASSERT_OK_AND_ASSIGN(Tensor differs, RunOp1("NotEqual", {x, y}, tolerant));
  ExpectTensorEqual(differs, AsScalar<bool>(true));
}

TEST_F(ElementwiseTest, ReusesTheBufferOfAnInputThatNobodyElseHolds) {
  Tensor x = AsTensor<float>({1, 2, 3});
  const void* const data = x.raw_data();
  ASSERT_OK_AND_ASSIGN(auto kernel, MakeOp("Neg", {x}));
  std::vector<TestInput> inputs;
  inputs.emplace_back(std::move(x));
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> out, RunKernel(*kernel, std::move(inputs)));
  EXPECT_EQ(out[0].raw_data(), data);
  ExpectTensorEqual(out[0], AsTensor<float>({-1, -2, -3}));
}

TEST_F(ElementwiseTest, IntegerDivisionNeverTraps) {
  constexpr int32_t kLeast = std::numeric_limits<int32_t>::min();
  const Tensor x = AsTensor<int32_t>({-7, 7, kLeast}), y = AsTensor<int32_t>({2, -2, -1});
  struct Case {
    const char* op;
    std::vector<int32_t> expected;
  };
  for (const Case& c : {Case{"FloorDiv", {-4, -4, kLeast}}, Case{"TruncateDiv", {-3, -3, kLeast}},
                        Case{"FloorMod", {1, -1, 0}}, Case{"TruncateMod", {-1, 1, 0}}}) {
    ASSERT_OK_AND_ASSIGN(Tensor out, RunOp1(c.op, {x, y}));
    ExpectTensorEqual(out, AsTensor<int32_t>(c.expected));
    EXPECT_THAT(RunOp1(c.op, {x, AsScalar<int32_t>(0)}), StatusIs(kInvalid, HasSubstr("Integer division by zero")))
        << c.op;
  }
  EXPECT_THAT(RunOp1("Pow", {x, AsScalar<int32_t>(-1)}),
              StatusIs(kInvalid, HasSubstr("Integers to negative integer powers are not allowed")));
}

TEST_F(ElementwiseTest, ShiftsByAnyCount) {
  const Tensor x = AsTensor<int8_t>({1, 1, -128, -128}), by = AsTensor<int8_t>({100, -1, 100, -5});
  ASSERT_OK_AND_ASSIGN(Tensor left, RunOp1("LeftShift", {x, by}));
  ExpectTensorEqual(left, AsTensor<int8_t>({-128, 1, 0, -128}));
  ASSERT_OK_AND_ASSIGN(Tensor right, RunOp1("RightShift", {x, by}));
  ExpectTensorEqual(right, AsTensor<int8_t>({0, 1, -1, -128}));
}

TEST_F(ElementwiseTest, MaximumKeepsNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  ASSERT_OK_AND_ASSIGN(Tensor out, RunOp1("Maximum", {AsTensor<float>({nan, 1, 1}), AsTensor<float>({1, nan, 2})}));
  EXPECT_TRUE(std::isnan(out.data<float>()[0]));
  EXPECT_TRUE(std::isnan(out.data<float>()[1]));
  EXPECT_EQ(out.data<float>()[2], 2);
}

// Within a few units in the last place over the whole range, through and beyond its edges.
TEST_F(ElementwiseTest, ElementaryFunctionsAgreeWithDouble) {
  std::vector<float> x;
  for (float v = -110; v < 110; v += 0.037f) x.push_back(v);
  const Tensor input = AsTensor<float>(x);
  struct Case {
    const char* op;
    double (*function)(double);
  };
  for (const Case& c :
       {Case{"Exp", [](double v) { return std::exp(v); }}, Case{"Tanh", [](double v) { return std::tanh(v); }},
        Case{"Sigmoid", [](double v) { return 1 / (1 + std::exp(-v)); }},
        Case{"Expm1", [](double v) { return std::expm1(v); }}, Case{"Erf", [](double v) { return std::erf(v); }},
        Case{"Erfc", [](double v) { return std::erfc(v); }}, Case{"Sin", [](double v) { return std::sin(v); }},
        Case{"Cos", [](double v) { return std::cos(v); }}}) {
    ASSERT_OK_AND_ASSIGN(Tensor out, RunOp1(c.op, {input}));
    for (size_t i = 0; i < x.size(); ++i) {
      const float expected = static_cast<float>(c.function(x[i])), actual = out.data<float>()[i];
      if (std::isinf(expected)) {
        EXPECT_EQ(actual, expected) << c.op << " of " << x[i];
      } else {
        EXPECT_NEAR(actual, expected, std::abs(expected) * 1e-6 + 1e-38) << c.op << " of " << x[i];
      }
    }
  }
}

TEST_F(ElementwiseTest, LogarithmAtItsEdges) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  ASSERT_OK_AND_ASSIGN(Tensor out, RunOp1("Log", {AsTensor<float>({0, -1, kInfinity, 1, 1e-40f})}));
  EXPECT_EQ(out.data<float>()[0], -kInfinity);
  EXPECT_TRUE(std::isnan(out.data<float>()[1]));
  EXPECT_EQ(out.data<float>()[2], kInfinity);
  EXPECT_EQ(out.data<float>()[3], 0);
  EXPECT_NEAR(out.data<float>()[4], std::log(1e-40), 1e-4);
}

TEST_F(ElementwiseTest, Log1pAtItsEdges) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  ASSERT_OK_AND_ASSIGN(Tensor out, RunOp1("Log1p", {AsTensor<float>({-1, -2, kInfinity, 1e-20f, 3e-5f, 1e30f})}));
  EXPECT_EQ(out.data<float>()[0], -kInfinity);
  EXPECT_TRUE(std::isnan(out.data<float>()[1]));
  EXPECT_EQ(out.data<float>()[2], kInfinity);
  for (int i = 3; i < 6; ++i) {
    const float expected = std::log1p(std::vector<float>{1e-20f, 3e-5f, 1e30f}[i - 3]);
    EXPECT_NEAR(out.data<float>()[i], expected, expected * 2e-7f);
  }
}

TEST_F(ElementwiseTest, SineFarFromZero) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  ASSERT_OK_AND_ASSIGN(Tensor out, RunOp1("Sin", {AsTensor<float>({1e30f, 1, kInfinity, -0.0f})}));
  EXPECT_NEAR(out.data<float>()[0], std::sin(double{1e30f}), 1e-6);
  EXPECT_NEAR(out.data<float>()[1], std::sin(1.0), 1e-6);
  EXPECT_TRUE(std::isnan(out.data<float>()[2]));
  EXPECT_TRUE(std::signbit(out.data<float>()[3]));
}

TEST_F(ElementwiseTest, SixteenBitFloatsComputeInFloat) {
  std::vector<bfloat16> x(1000, bfloat16(1.5f)), expected(1000, bfloat16(2.25f));
  ASSERT_OK_AND_ASSIGN(Tensor out, RunOp1("Mul", {AsTensor<bfloat16>(x), AsTensor<bfloat16>(x)}));
  ExpectTensorEqual(out, AsTensor<bfloat16>(expected));
}

TEST_F(ElementwiseTest, LargeTensorsAreSharedByThreads) {
  const int64_t n = 1 << 20;
  Tensor x(DT_FLOAT, TensorShape({n}));
  for (int64_t i = 0; i < n; ++i) x.data<float>()[i] = static_cast<float>(i % 1000);
  ASSERT_OK_AND_ASSIGN(Tensor out, RunOp1("Square", {x}));
  for (int64_t i = 0; i < n; ++i) ASSERT_EQ(out.data<float>()[i], static_cast<float>((i % 1000) * (i % 1000)));
}

TEST_F(ElementwiseTest, CastsBetweenAllKinds) {
  const Tensor x = AsTensor<float>({-1.7f, 0, 2.5f});
  ASSERT_OK_AND_ASSIGN(Tensor integers, RunOp1("Cast", {x}, Attrs().Set("DstT", DT_INT32)));
  ExpectTensorEqual(integers, AsTensor<int32_t>({-1, 0, 2}));
  ASSERT_OK_AND_ASSIGN(Tensor flags, RunOp1("Cast", {x}, Attrs().Set("DstT", DT_BOOL)));
  ExpectTensorEqual(flags, AsTensor<bool>({true, false, true}));
  EXPECT_THAT(RunOp1("Cast", {x}, Attrs().Set("DstT", DT_STRING)), StatusIs(absl::StatusCode::kUnimplemented));
}

TEST_F(ElementwiseTest, BroadcastGradientArgsNamesWhatWasRepeated) {
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> out,
                       RunOp("BroadcastGradientArgs", {AsTensor<int32_t>({2, 1, 3}), AsTensor<int32_t>({4, 1})}));
  ExpectTensorEqual(out[0], AsTensor<int32_t>({1}));
  ExpectTensorEqual(out[1], AsTensor<int32_t>({0, 2}));
}

TEST_F(ElementwiseTest, AddNWantsEqualShapes) {
  EXPECT_THAT(RunOp1("AddN", {AsTensor<float>({1}), AsTensor<float>({1, 2})}),
              StatusIs(kInvalid, HasSubstr("must have the same size and shape")));
  ASSERT_OK_AND_ASSIGN(Tensor sum, RunOp1("AddN", {AsTensor<float>({1}), AsTensor<float>({2}), AsTensor<float>({3})}));
  ExpectTensorEqual(sum, AsTensor<float>({6}));
}

TEST_F(ElementwiseTest, AccumulatesWhatHasOneShape) {
  const Attrs attrs = Attrs().Set("shape", PartialTensorShape());
  ASSERT_OK_AND_ASSIGN(const Tensor sum,
                       RunOp1("AccumulateNV2", {AsTensor<float>({1, 2}), AsTensor<float>({3, 4})}, attrs));
  ExpectTensorEqual(sum, AsTensor<float>({4, 6}));
  EXPECT_THAT(RunOp1("AccumulateNV2", {AsTensor<float>({1}), AsTensor<float>({3, 4})}, attrs),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("must be the same size")));
}

}  // namespace
}  // namespace weir
