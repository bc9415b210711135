#include "tests/gradients/family_cases.h"

namespace weir {

std::vector<OpCase> SpecialGradientCases() {
  std::vector<OpCase> cases;
  for (const char* op :
       {"BesselI0", "BesselI0e", "BesselI1", "BesselI1e", "BesselK0", "BesselK0e", "BesselK1", "BesselK1e", "BesselJ0",
        "BesselJ1", "BesselY0", "BesselY1", "Dawsn", "Expint", "FresnelCos", "FresnelSin", "Spence"}) {
    cases.push_back({op, {X({5}, 0.3, 3.5)}});
  }
  cases.push_back(Twice({"BesselI0", {X({3}, -2, 2)}}));
  cases.push_back({"Igamma", {X({4}, 0.5, 4), X({4}, 0.5, 4)}});
  cases.push_back({"Igamma", {X({2, 1}, 0.5, 4), X({3}, 0.5, 4)}});
  cases.push_back({"Igammac", {X({4}, 0.5, 4), X({4}, 0.5, 4)}});
  cases.push_back({"Zeta", {C(AsTensor<double>({2, 3.5})), X({2}, 0.5, 3)}});
  cases.push_back({"Polygamma", {C(AsTensor<double>({0, 1, 3})), X({3}, 0.5, 3)}});
  cases.push_back({"Betainc", {C(AsTensor<double>({2, 0.7})), C(AsTensor<double>({1.5, 3})), X({2}, 0.2, 0.8)}});
  cases.push_back({"Betainc", {C(AsTensor<double>({2, 0.7})), C(AsTensor<double>({1.5, 3})), X({}, 0.2, 0.8)}});
  return cases;
}

namespace {

TEST(SpecialGradients, AgreeWithNumericOnes) { CheckCases(SpecialGradientCases()); }

}  // namespace
}  // namespace weir
