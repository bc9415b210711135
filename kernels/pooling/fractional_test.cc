#include "kernels/op_testing.h"

namespace weir {
namespace {

class FractionalPoolTest : public OpTest {};

TEST_F(FractionalPoolTest, GradientsStayInsideTheImage) {
  const Tensor one = F({1, 2, 3, 4}, {1, 2, 2, 1}), pooled = F({4}, {1, 1, 1, 1});
  const auto bounds = [](std::vector<int64_t> values) { return AsTensor<int64_t>(std::move(values)); };
  ASSERT_OK_AND_ASSIGN(Tensor gradient,
                       RunOp1("FractionalMaxPoolGrad", {one, pooled, pooled, bounds({0, 2}), bounds({0, 2})}));
  ExpectTensorEqual(gradient, F({0, 0, 0, 4}, {1, 2, 2, 1}));
  // What lies beyond the image is left out.
  ASSERT_OK_AND_ASSIGN(gradient,
                       RunOp1("FractionalMaxPoolGrad", {one, pooled, pooled, bounds({0, 9}), bounds({0, 2})}));
  ExpectTensorEqual(gradient, F({0, 0, 0, 4}, {1, 2, 2, 1}));
  for (const auto& bad : {bounds({2, 0}), bounds({-5, 2}), bounds({0})}) {
    EXPECT_THAT(RunOp("FractionalMaxPoolGrad", {one, pooled, pooled, bad, bounds({0, 2})}),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
}

}  // namespace
}  // namespace weir
