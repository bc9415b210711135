#include "kernels/op_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

class CandidateSamplingTest : public OpTest {};

TEST_F(CandidateSamplingTest, SamplersKeepToTheirRange) {
  const Tensor classes = AsTensor<int64_t>({0}, {1, 1});
  const Attrs common = Attrs()
                           .Set("num_true", int64_t{1})
                           .Set("num_sampled", int64_t{2})
                           .Set("unique", true)
                           .Set("range_max", int64_t{3});
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> learned, RunOp("LearnedUnigramCandidateSampler", {classes}, common));
  for (int64_t value : learned[0].flat<int64_t>()) EXPECT_TRUE(value >= 0 && value < 3);
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> fixed, RunOp("FixedUnigramCandidateSampler", {classes},
                                                        Attrs(common).Set("unigrams", std::vector<float>{0, 1, 1})));
  for (int64_t value : fixed[0].flat<int64_t>()) EXPECT_TRUE(value == 1 || value == 2);
  // Two distinct values of which only one can be drawn would never be found.
  EXPECT_THAT(
      RunOp("FixedUnigramCandidateSampler", {classes}, Attrs(common).Set("unigrams", std::vector<float>{0, 0, 1})),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("too small")));
}

}  // namespace
}  // namespace weir
