#include "tests/gradients/family_cases.h"

namespace weir {

std::vector<OpCase> RankingGradientCases() {
  std::vector<OpCase> cases;
  cases.push_back({"TopKV2", {X({2, 5}), Int(2)}});
  cases.push_back({"TopK", {X({2, 5})}, Attrs().Set("k", int64_t{3})});
  for (const int64_t axis : {-1, -2, 0, 1, 2}) {
    for (const bool largest : {true, false}) {
      cases.push_back(Single({"ApproxTopK",
                              {X({3, 4, 5})},
                              Attrs().Set("k", int64_t{2}).Set("reduction_dimension", axis).Set("is_max_k", largest)}));
    }
  }
  cases.push_back({"NthElement", {X({3, 5}), Int(2)}});
  return cases;
}

namespace {

TEST(RankingGradients, AgreeWithNumericOnes) { CheckCases(RankingGradientCases()); }

}  // namespace
}  // namespace weir
