#include <set>

#include "kernels/op_testing.h"
#include "kernels/random/philox.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

class RandomTest : public OpTest {};

// The generator's published known answers.
TEST(PhiloxTest, KnownAnswers) {
  EXPECT_EQ(Philox({0, 0, 0, 0}, {0, 0}).Next(), (Philox::Group{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}).Next(),
            (Philox::Group{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
}

TEST(PhiloxTest, SkipsAsIfDrawn) {
  Philox drawn(1, 2), skipped(1, 2);
  for (int i = 0; i < 5; ++i) drawn.Next();
  skipped.Skip(5);
  EXPECT_EQ(drawn.Next(), skipped.Next());
  Philox carried({0xffffffff, 0xffffffff, 0, 0}, {0, 0});
  carried.Skip(1);
  EXPECT_EQ(carried.counter(), (Philox::Group{0, 0, 1, 0}));
}

TEST_F(RandomTest, EqualSeedsGiveEqualNumbersAndRunsGoOn) {
  const Tensor shape = AsTensor<int32_t>({100});
  const Attrs seeded = Attrs().Set("dtype", DT_FLOAT).Set("seed", int64_t{1}).Set("seed2", int64_t{2});
  ASSERT_OK_AND_ASSIGN(auto kernel, MakeOp("RandomUniform", {shape}, seeded));
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> first, RunKernel(*kernel, {shape}));
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> second, RunKernel(*kernel, {shape}));
  ASSERT_OK_AND_ASSIGN(Tensor again, RunOp1("RandomUniform", {shape}, seeded));
  ExpectTensorEqual(first[0], again);
  EXPECT_NE(first[0].data<float>()[0], second[0].data<float>()[0]);
}

TEST_F(RandomTest, WithoutSeedsNumbersDiffer) {
  const Tensor shape = AsTensor<int32_t>({4});
  const Attrs unseeded = Attrs().Set("dtype", DT_DOUBLE);
  ASSERT_OK_AND_ASSIGN(Tensor a, RunOp1("RandomUniform", {shape}, unseeded));
  ASSERT_OK_AND_ASSIGN(Tensor b, RunOp1("RandomUniform", {shape}, unseeded));
  EXPECT_NE(a.data<double>()[0], b.data<double>()[0]);
}

// Threads share large tensors; the numbers are those of a small one, and then some.
TEST_F(RandomTest, NumbersDoNotDependOnTheSplit) {
  for (const char* op : {"StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal"}) {
    const Tensor seed = AsTensor<int64_t>({3, 4});
    ASSERT_OK_AND_ASSIGN(Tensor few, RunOp1(op, {AsTensor<int32_t>({1001}), seed}));
    ASSERT_OK_AND_ASSIGN(Tensor many, RunOp1(op, {AsTensor<int32_t>({100001}), seed}));
    ExpectTensorEqual(few, many.Slice(0, 1001));
  }
}

TEST_F(RandomTest, IntegersStayWithinBounds) {
  ASSERT_OK_AND_ASSIGN(
      Tensor out, RunOp1("RandomUniformInt", {AsTensor<int32_t>({1000}), AsScalar<int64_t>(-2), AsScalar<int64_t>(3)}));
  const auto values = out.flat<int64_t>();
  EXPECT_EQ(std::set<int64_t>(values.begin(), values.end()), (std::set<int64_t>{-2, -1, 0, 1, 2}));
  EXPECT_THAT(RunOp1("RandomUniformInt", {AsTensor<int32_t>({1}), AsScalar<int64_t>(3), AsScalar<int64_t>(3)}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("Need minval < maxval")));
}

TEST_F(RandomTest, ShuffleKeepsRows) {
  const Tensor x = AsTensor<int32_t>({0, 0, 1, 1, 2, 2, 3, 3}, {4, 2});
  ASSERT_OK_AND_ASSIGN(Tensor y, RunOp1("RandomShuffle", {x}, Attrs().Set("seed", int64_t{7})));
  std::set<int32_t> seen;
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(y.data<int32_t>()[2 * i], y.data<int32_t>()[2 * i + 1]);
    seen.insert(y.data<int32_t>()[2 * i]);
  }
  EXPECT_EQ(seen.size(), 4);
}

TEST_F(RandomTest, MultinomialDrawsLikelyClasses) {
  const Tensor logits = AsTensor<float>({-1000, 0, -1000}, {1, 3});
  ASSERT_OK_AND_ASSIGN(Tensor out, RunOp1("Multinomial", {logits, AsScalar<int32_t>(5)}));
  ExpectTensorEqual(out, AsTensor<int64_t>({1, 1, 1, 1, 1}, {1, 5}));
  EXPECT_THAT(RunOp1("Multinomial", {AsTensor<float>({}, {1, 0}), AsScalar<int32_t>(5)}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("num_classes should be positive")));
}

}  // namespace
}  // namespace weir
