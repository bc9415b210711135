#include <limits>

#include "kernels/device/kernel_inputs_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

using SegmentTest = KernelInputsTest;

TEST_F(SegmentTest, GradientsOfRowsWithoutWidthTakeNoMemory) {
  const Tensor gradient(DT_FLOAT, TensorShape({int64_t{1} << 45, 0}));
  const Tensor one = AsTensor<int32_t>({1});
  ASSERT_OK_AND_ASSIGN(const Tensor rows, RunOp1("SparseSegmentMeanGrad", {gradient, one, one, AsScalar<int32_t>(2)}));
  EXPECT_EQ(rows.shape(), TensorShape({2, 0}));
}

TEST_F(SegmentTest, SegmentsOutOfRangeAreRefused) {
  const Tensor data = AsTensor<float>({1, 2, 3});
  ASSERT_OK_AND_ASSIGN(Tensor sums,
                       RunOp1("UnsortedSegmentSum", {data, AsTensor<int32_t>({1, -1, 1}), AsScalar<int32_t>(2)}));
  ExpectTensorEqual(sums, AsTensor<float>({0, 4}));
  EXPECT_THAT(RunOp1("UnsortedSegmentSum", {data, AsTensor<int32_t>({0, 1, 2}), AsScalar<int32_t>(2)}),
              StatusIs(kInvalid, HasSubstr("is out of range [0, 2)")));
  EXPECT_THAT(RunOp1("SegmentSum", {data, AsTensor<int32_t>({1, 0, 2})}),
              StatusIs(kInvalid, HasSubstr("not increasing")));
  EXPECT_THAT(RunOp1("SparseSegmentSum", {data, AsTensor<int32_t>({3}), AsTensor<int32_t>({0})}),
              StatusIs(kInvalid, HasSubstr("out of range")));
  const Tensor largest = AsTensor<int64_t>({std::numeric_limits<int64_t>::max()});
  EXPECT_THAT(RunOp1("SegmentSum", {AsTensor<float>({1}), largest}), StatusIs(kInvalid, HasSubstr("is too large")));
  EXPECT_THAT(RunOp1("SparseSegmentSumWithNumSegments", {data, AsTensor<int32_t>({0}), largest, AsScalar<int32_t>(2)}),
              StatusIs(kInvalid, HasSubstr("is too large")));
}

}  // namespace
}  // namespace weir
