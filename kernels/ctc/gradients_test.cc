#include "tests/gradients/family_cases.h"

namespace weir {

std::vector<OpCase> CtcGradientCases() {
  return {
      FirstOutput({"CTCLoss",
                   {X({4, 2, 3}), C(AsTensor<int64_t>({0, 0, 0, 1, 1, 0}, TensorShape({3, 2}))), Ints({0, 1, 1}),
                    Ints({4, 3})}}),
      Single(FirstOutput({"CTCLossV2",
                          {X({4, 2, 3}), C(AsTensor<int64_t>({0, 0, 0, 1, 1, 0}, TensorShape({3, 2}))), Ints({1, 2, 1}),
                           Ints({4, 3})}})),
  };
}

namespace {

TEST(CtcGradients, AgreeWithNumericOnes) { CheckCases(CtcGradientCases()); }

}  // namespace
}  // namespace weir
