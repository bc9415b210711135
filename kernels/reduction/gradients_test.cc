#include "tests/gradients/family_cases.h"

namespace weir {

std::vector<OpCase> ReductionGradientCases() {
  std::vector<OpCase> cases;
  for (const char* op : {"Sum", "Mean", "Prod", "Max", "Min", "EuclideanNorm"}) {
    cases.push_back(Twice({op, {X({2, 3, 2}), Ints({1})}}));
    cases.push_back({op, {X({2, 3, 2}), Ints({0, -1})}});
    if (op == absl::string_view("Prod") || op == absl::string_view("Sum") || op == absl::string_view("Mean")) {
      cases.push_back(Complex({op, {X({2, 3}), Ints({1})}}));
    }
    cases.push_back({op, {X({2, 3}), Ints({0})}, Attrs().Set("keep_dims", true)});
    cases.push_back({op, {X({2, 3}), Int(1)}});
    cases.push_back({op, {X({2, 3}), Ints({0, 1})}});
    cases.push_back({op, {X({2, 3}), Ints({})}});
  }
  for (const bool exclusive : {false, true}) {
    for (const bool reverse : {false, true}) {
      const Attrs attrs = Attrs().Set("exclusive", exclusive).Set("reverse", reverse);
      cases.push_back(Twice({"Cumsum", {X({2, 3}), Int(1)}, attrs}));
      cases.push_back(Twice({"Cumprod", {X({3, 2}, 0.4, 1.8), Int(0)}, attrs}));
      cases.push_back(Complex({"Cumprod", {X({3, 2}, 0.4, 1.8), Int(0)}, attrs}));
    }
  }
  cases.push_back({"CumulativeLogsumexp", {X({2, 4}), Int(1)}});
  cases.push_back({"CumulativeLogsumexp", {X({4, 2}), Int(0)}, Attrs().Set("reverse", true)});
  return cases;
}

namespace {

TEST(ReductionGradients, AgreeWithNumericOnes) { CheckCases(ReductionGradientCases()); }

}  // namespace
}  // namespace weir
