#include <limits>

#include "kernels/op_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

class CtcLossTest : public OpTest {};

TEST_F(CtcLossTest, LabelsAndLengthsOfSequencesAreChecked) {
  const Tensor x(DT_FLOAT, TensorShape({2, 1, 3})), place = AsTensor<int64_t>({0, 0}, {1, 2});
  ExpectErrors({
      {"CTCLoss", {x, AsTensor<int64_t>({1, 0}, {1, 2}), Ints({0}), Ints({2})}, "out of bounds"},
      {"CTCLoss", {x, place, Ints({-1}), Ints({2})}, "nonnegative"},
  });
}

TEST_F(CtcLossTest, ALabelMayStandBeyondTheTime) {
  const Tensor x(DT_FLOAT, TensorShape({2, 1, 3})), places = AsTensor<int64_t>({0, 0, 0, 5}, {2, 2});
  EXPECT_THAT(RunOp("CTCLoss", {x, places, Ints({0, 1}), Ints({2})}), IsOk());
  EXPECT_THAT(
      RunOp("CTCLoss", {x, places, Ints({1, 1}), Ints({1})}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("Not enough time for target transition sequence")));
}

TEST_F(CtcLossTest, EqualLabelsWithoutTimeForTheBlankHaveInfiniteLoss) {
  const Tensor x = AsTensor<float>({0, 0, 0, 0, 0, 0}, {2, 1, 3});
  const Tensor places = AsTensor<int64_t>({0, 0, 0, 1}, {2, 2});
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> out, RunOp("CTCLoss", {x, places, Ints({1, 1}), Ints({2})}));
  EXPECT_EQ(out[0].flat<float>()[0], std::numeric_limits<float>::infinity());
  EXPECT_NE(out[1].flat<float>()[0], 0);
}

TEST_F(CtcLossTest, LengthsBeyondTheInputFail) {
  const Tensor x(DT_FLOAT, TensorShape({2, 1, 3}));
  for (int32_t length : {-1, 3}) {
    EXPECT_THAT(RunOp("CTCGreedyDecoder", {x, Ints({length})}), StatusIs(absl::StatusCode::kFailedPrecondition));
  }
}

}  // namespace
}  // namespace weir
