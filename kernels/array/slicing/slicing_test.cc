#include "kernels/device/kernel_inputs_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

using SlicingTest = KernelInputsTest;

TEST_F(SlicingTest, StridedSliceReadsOnlyWhatIsThere) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const Tensor x = Counting({4, 5});
  const auto slice = [&](std::vector<int64_t> begin, std::vector<int64_t> end, std::vector<int64_t> strides,
                         const Attrs& attrs = Attrs()) {
    return RunOp1("StridedSlice", {x, AsTensor<int64_t>(begin), AsTensor<int64_t>(end), AsTensor<int64_t>(strides)},
                  attrs);
  };
  ASSERT_OK_AND_ASSIGN(Tensor backwards, slice({-1, -1}, {-3, -6}, {-1, -2}));
  ExpectTensorEqual(backwards, AsTensor<int32_t>({19, 17, 15, 14, 12, 10}, {2, 3}));
  ASSERT_OK_AND_ASSIGN(Tensor clamped, slice({-kMax, 3}, {kMax, kMax}, {kMax, kMax}));
  ExpectTensorEqual(clamped, AsTensor<int32_t>({3}, {1, 1}));
  ASSERT_OK_AND_ASSIGN(Tensor row, slice({1}, {2}, {1}, Attrs().Set("shrink_axis_mask", int64_t{1})));
  ExpectTensorEqual(row, AsTensor<int32_t>({5, 6, 7, 8, 9}));
  EXPECT_THAT(slice({0}, {1}, {0}), StatusIs(kInvalid, HasSubstr("must be non-zero")));
  EXPECT_THAT(slice({9}, {10}, {1}, Attrs().Set("shrink_axis_mask", int64_t{1})),
              StatusIs(kInvalid, HasSubstr("out of bounds")));
  EXPECT_THAT(slice({0, 0, 0}, {1, 1, 1}, {1, 1, 1}), StatusIs(kInvalid, HasSubstr("has only 2 dims")));
  EXPECT_THAT(slice({0, 0}, {0, 0}, {1, 1}, Attrs().Set("ellipsis_mask", int64_t{3})),
              StatusIs(kInvalid, HasSubstr("Multiple ellipses")));
}

TEST_F(SlicingTest, StridedSliceGradPutsBackWhatTheSliceTook) {
  ASSERT_OK_AND_ASSIGN(
      Tensor dx, RunOp1("StridedSliceGrad", {AsTensor<int32_t>({5}), AsTensor<int32_t>({4}), AsTensor<int32_t>({0}),
                                             AsTensor<int32_t>({-2}), AsTensor<float>({1, 2})}));
  ExpectTensorEqual(dx, AsTensor<float>({0, 0, 2, 0, 1}));
  EXPECT_THAT(RunOp1("StridedSliceGrad", {AsTensor<int32_t>({5}), AsTensor<int32_t>({0}), AsTensor<int32_t>({5}),
                                          AsTensor<int32_t>({1}), AsTensor<float>({1, 2})}),
              StatusIs(kInvalid, HasSubstr("shape of dy was")));
}

TEST_F(SlicingTest, SliceChecksBounds) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const Tensor x = Counting({4});
  ASSERT_OK_AND_ASSIGN(Tensor tail, RunOp1("Slice", {x, AsTensor<int64_t>({1}), AsTensor<int64_t>({-1})}));
  ExpectTensorEqual(tail, AsTensor<int32_t>({1, 2, 3}));
  for (auto [begin, size] :
       {std::pair<int64_t, int64_t>{-1, 1}, {5, 0}, {2, 3}, {1, kMax}, {kMax, 1}, {-kMax - 1, -1}}) {
    EXPECT_THAT(RunOp1("Slice", {x, AsTensor<int64_t>({begin}), AsTensor<int64_t>({size})}), StatusIs(kInvalid));
  }
}

}  // namespace
}  // namespace weir
