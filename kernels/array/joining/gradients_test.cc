#include "tests/gradients/family_cases.h"

namespace weir {

std::vector<OpCase> JoiningGradientCases() {
  const int64_t one = 1;
  return {
      Twice({"Pack", {List({X({2, 3}), X({2, 3})})}, Attrs().Set("axis", one)}),
      Twice({"Unpack", {X({2, 3})}, Attrs().Set("num", int64_t{3}).Set("axis", one)}),
      {"Concat", {Int(1), List({X({2, 1}), X({2, 3})})}},
      Twice({"ConcatV2", {List({X({2, 1}), X({2, 3}), X({2, 2})}), Int(-1)}}),
      {"Split", {Int(1), X({2, 4})}, Attrs().Set("num_split", int64_t{2})},
      {"SplitV", {X({2, 5}), Ints({1, 4}), Int(1)}, Attrs().Set("num_split", int64_t{2})},
  };
}

namespace {

TEST(JoiningGradients, AgreeWithNumericOnes) { CheckCases(JoiningGradientCases()); }

}  // namespace
}  // namespace weir
