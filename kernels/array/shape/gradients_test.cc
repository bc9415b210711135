#include "tests/gradients/family_cases.h"

namespace weir {

std::vector<OpCase> ShapeGradientCases() {
  std::vector<OpCase> cases = {
      Twice({"Reshape", {X({2, 3}), Ints({3, -1})}}),
      {"ExpandDims", {X({2, 3}), Int(1)}},
      {"Squeeze", {X({2, 1, 3})}},
      Twice({"Fill", {Ints({2, 3}), X({})}}),
      {"IdentityN", {List({X({2}), X({3})})}},
  };
  for (const char* op : {"Identity", "Snapshot", "DeepCopy"}) cases.push_back(Twice({op, {X({2, 3})}}));
  cases.push_back({"EnsureShape", {X({3})}, Attrs().Set("shape", TensorShape({3}))});
  cases.push_back({"PlaceholderWithDefault", {X({3})}, Attrs().Set("shape", TensorShape({3}))});
  return cases;
}

namespace {

TEST(ShapeGradients, AgreeWithNumericOnes) { CheckCases(ShapeGradientCases()); }

}  // namespace
}  // namespace weir
