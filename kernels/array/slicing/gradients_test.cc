#include "tests/gradients/family_cases.h"

namespace weir {

std::vector<OpCase> SlicingGradientCases() {
  const Attrs masks = Attrs().Set("begin_mask", int64_t{1}).Set("shrink_axis_mask", int64_t{2});
  return {
      Twice({"Slice", {X({3, 4}), Ints({1, 0}), Ints({2, -1})}}),
      Twice({"StridedSlice", {X({3, 4}), Ints({1, 0}), Ints({3, 4}), Ints({1, 2})}}),
      Twice({"StridedSlice", {X({3, 4}), Ints({0, 1}), Ints({2, 2}), Ints({1, 1})}, masks}),
      Twice({"TensorStridedSliceUpdate", {X({3, 4}), Ints({1, 0}), Ints({3, 4}), Ints({1, 2}), X({2, 2})}}),
      {"TensorStridedSliceUpdate", {X({3, 4}), Ints({0, 1}), Ints({2, 2}), Ints({1, 1}), X({1})}, masks},
      {"StridedSliceGrad", {Ints({3, 4}), Ints({1, 0}), Ints({3, 4}), Ints({1, 2}), X({2, 2})}},
  };
}

namespace {

TEST(SlicingGradients, AgreeWithNumericOnes) { CheckCases(SlicingGradientCases()); }

}  // namespace
}  // namespace weir
