#include "tests/gradients/family_cases.h"

namespace weir {

std::vector<OpCase> DebugGradientCases() {
  return {
      {"CheckNumerics", {X({3})}, Attrs().Set("message", std::string("bad"))},
      {"CheckNumericsV2", {X({3})}, Attrs().Set("message", std::string("numbers"))},
      {"DebugGradientIdentity", {X({3})}},
      {"DebugIdentityV2", {X({3})}},
      {"GuaranteeConst", {X({3})}},
  };
}

namespace {

TEST(DebugGradients, AgreeWithNumericOnes) { CheckCases(DebugGradientCases()); }

}  // namespace
}  // namespace weir
