#include "tests/gradients/family_cases.h"

namespace weir {

std::vector<OpCase> CountingGradientCases() {
  return {
      Twice({"Cross", {X({2, 3}), X({2, 3})}}),
      FirstOutput({"IsotonicRegression", {X({2, 5})}, Attrs().Set("output_dtype", DT_DOUBLE)}),
  };
}

namespace {

TEST(CountingGradients, AgreeWithNumericOnes) { CheckCases(CountingGradientCases()); }

}  // namespace
}  // namespace weir
