#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/op_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

class DistributionTest : public OpTest {};

TEST_F(DistributionTest, RandomParametersAreChecked) {
  const Tensor seed = AsTensor<int64_t>({1, 2}), three = AsTensor<float>({1, 2, 3});
  ExpectErrors({
      {"StatelessRandomGammaV2", {Ints({4}), seed, three}, "must end with broadcasted shape"},
      {"StatelessRandomPoisson", {Ints({-1}), seed, three}, "must be >= 0", Attrs().Set("dtype", DT_FLOAT)},
      {"StatelessRandomBinomial", {Ints({2}), seed, three, AsTensor<float>({1, 2})}, "compatible batch dimensions"},
      {"StatelessParameterizedTruncatedNormal",
       {Ints({2}), seed, AsScalar<float>(0), AsScalar<float>(-1), AsScalar<float>(0), AsScalar<float>(1)},
       "Invalid parameters"},
      {"RandomIndexShuffle", {Int(0), Ints({1, 2, 3}), Int(-1)}, "max_index must be >= 0 but was -1"},
      {"RandomIndexShuffle", {Int(9), Ints({1, 2, 3}), Int(8)}, "max_index must be >= index, but 8 < 9"},
      {"RandomIndexShuffle", {Int(-1), Ints({1, 2, 3}), Int(8)}, "index must be >= 0 but was -1"},
  });
}

TEST_F(DistributionTest, PoissonOfInfiniteRates) {
  const Tensor seed = AsTensor<int64_t>({1, 2}), rate = AsTensor<float>({std::numeric_limits<float>::infinity()});
  const auto draw = [&](DataType type) {
    return RunOp1("StatelessRandomPoisson", {Ints({2, 1}), seed, rate}, Attrs().Set("dtype", type));
  };
  ASSERT_OK_AND_ASSIGN(const Tensor real, draw(DT_FLOAT));
  EXPECT_TRUE(std::isinf(real.data<float>()[1]));
  ASSERT_OK_AND_ASSIGN(const Tensor whole, draw(DT_INT32));
  ExpectTensorEqual(whole, AsTensor<int32_t>({0, 0}, {2, 1}));
  // No rate draws nothing, and what no memory holds is not asked for as double.
  ASSERT_OK_AND_ASSIGN(const Tensor none,
                       RunOp1("RandomPoissonV2", {Ints({3}), F({}, {0})}, Attrs().Set("dtype", DT_FLOAT)));
  EXPECT_EQ(none.shape(), TensorShape({3, 0}));
  EXPECT_THAT(RunOp1("StatelessRandomPoisson", {Ints({1 << 30, 1 << 30, 1}), seed, AsTensor<float>({1})},
                     Attrs().Set("dtype", DT_FLOAT)),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("type float")));
}

TEST_F(DistributionTest, SobolPoints) {
  const auto sample = [&](int32_t dim, int32_t count, int32_t skip) {
    return RunOp1("SobolSample", {AsScalar<int32_t>(dim), AsScalar<int32_t>(count), AsScalar<int32_t>(skip)});
  };
  ASSERT_OK_AND_ASSIGN(const Tensor points, sample(5, 4, 0));
  ExpectTensorEqual(points, F({0.5f,  0.5f,  0.5f,  0.5f,  0.5f,  0.75f,  0.25f,  0.25f,  0.25f,  0.75f,
                               0.25f, 0.75f, 0.75f, 0.75f, 0.25f, 0.375f, 0.375f, 0.625f, 0.875f, 0.375f},
                              {4, 5}));
  // In each dimension the first 2^k points, with the origin, fall into 2^k different intervals.
  ASSERT_OK_AND_ASSIGN(const Tensor many, sample(1111, 1023, 0));
  for (int d = 0; d < 1111; ++d) {
    std::vector<bool> taken(1024, false);
    for (int i = 0; i < 1023; ++i) taken[static_cast<int>(many.data<float>()[i * 1111 + d] * 1024)] = true;
    ASSERT_EQ(std::count(taken.begin() + 1, taken.end(), true), 1023) << d;
  }
  EXPECT_THAT(sample(1112, 1, 0), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("at most 1111")));
  EXPECT_THAT(sample(1, 0, 0), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("num_results")));
  EXPECT_THAT(sample(1, 1, -1), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("skip")));
}

}  // namespace
}  // namespace weir
