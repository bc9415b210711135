#include <cmath>

#include "kernels/op_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

class CtcTest : public OpTest {};

TEST_F(CtcTest, BeamsFindWhatGreedySearchMisses) {
  // Each moment favours the blank, but the label over both moments is more probable.
  const auto logs = [](std::vector<float> p) {
    for (float& x : p) x = std::log(x);
    return p;
  };
  const Tensor inputs = AsTensor<float>(logs({0.4f, 0.6f, 0.4f, 0.6f}), {2, 1, 2});
  const Attrs attrs = Attrs().Set("beam_width", int64_t{4}).Set("top_paths", int64_t{1});
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> out, RunOp("CTCBeamSearchDecoder", {inputs, AsTensor<int32_t>({2})}, attrs));
  ExpectTensorEqual(out[1], AsTensor<int64_t>({0}));
  EXPECT_NEAR(out[3].data<float>()[0], std::log(0.64f), 1e-5);
  EXPECT_THAT(RunOp("CTCBeamSearchDecoder", {inputs, AsTensor<int32_t>({9})}, attrs),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(
      RunOp("CTCBeamSearchDecoder", {inputs, AsTensor<int32_t>({0})}, Attrs(attrs).Set("top_paths", int64_t{3})),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("Less leaves")));
}

}  // namespace
}  // namespace weir
