#include "kernels/device/kernel_inputs_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

using ShapeOpsTest = KernelInputsTest;

TEST_F(ShapeOpsTest, ReshapeInfersAndRefuses) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const Tensor x = Counting({2, 6});
  ASSERT_OK_AND_ASSIGN(Tensor y, RunOp1("Reshape", {x, AsTensor<int32_t>({3, -1})}));
  EXPECT_EQ(y.shape(), TensorShape({3, 4}));
  EXPECT_TRUE(y.SharesBufferWith(x));
  struct Case {
    std::vector<int64_t> dims;
    const char* message;
  };
  for (const Case& c : {Case{{5, -1}, "requires a multiple of 5"}, Case{{-1, -1}, "Only one input size may be -1"},
                        Case{{-2, 6}, "must be non-negative"}, Case{{13}, "the requested shape has 13"},
                        Case{{kMax, kMax}, "too many elements"}}) {
    EXPECT_THAT(RunOp1("Reshape", {x, AsTensor<int64_t>(c.dims)}), StatusIs(kInvalid, HasSubstr(c.message)));
  }
}

TEST_F(ShapeOpsTest, ReshapeTakesFewerThan254Dimensions) {
  const std::vector<int64_t> ones(254, 1);
  EXPECT_THAT(RunOp1("Reshape", {Counting({1}), AsTensor<int64_t>(ones)}),
              StatusIs(kInvalid, HasSubstr("too many dimensions: must be < 254, but received 254")));
}

TEST_F(ShapeOpsTest, SizesFromOutsideAreCheckedBeforeAllocation) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const Tensor x = Counting({2, 2});
  EXPECT_THAT(RunOp1("Fill", {AsTensor<int64_t>({kMax, 2}), AsScalar<float>(0)}), StatusIs(kInvalid));
  EXPECT_THAT(RunOp1("Fill", {AsTensor<int64_t>({-1}), AsScalar<float>(0)}),
              StatusIs(kInvalid, HasSubstr("must be >= 0")));
  EXPECT_THAT(RunOp1("Tile", {x, AsTensor<int64_t>({kMax, 3})}), StatusIs(kInvalid));
  EXPECT_THAT(RunOp1("Pad", {x, AsTensor<int64_t>({kMax, kMax, 0, 0}, {2, 2})}), StatusIs(kInvalid));
  EXPECT_THAT(RunOp1("BroadcastTo", {AsScalar<float>(1), AsTensor<int64_t>({kMax, kMax})}), StatusIs(kInvalid));
  EXPECT_THAT(RunOp1("OneHot", {AsTensor<int64_t>({0}), AsScalar<int32_t>(-1), AsScalar<float>(1), AsScalar<float>(0)}),
              StatusIs(kInvalid, HasSubstr("depth must be non-negative")));
  EXPECT_THAT(RunOp1("Range", {AsScalar<float>(0), AsScalar<float>(1e30f), AsScalar<float>(1e-30f)}),
              StatusIs(kInvalid));
}

}  // namespace
}  // namespace weir
