#include <limits>

#include "kernels/op_testing.h"

namespace weir {
namespace {

class SpaceBatchTest : public OpTest {};

TEST_F(SpaceBatchTest, BlocksMoveIntoTheBatchAndBack) {
  const Tensor x = F({1, 2, 3, 4, 5, 6}, {1, 2, 3, 1}), pads = AsTensor<int32_t>({0, 0, 0, 1}, {2, 2});
  ASSERT_OK_AND_ASSIGN(Tensor blocks, RunOp1("SpaceToBatchND", {x, Ints({2, 2}), pads}));
  ExpectTensorEqual(blocks, F({1, 3, 2, 0, 4, 6, 5, 0}, {4, 1, 2, 1}));
  ASSERT_OK_AND_ASSIGN(Tensor back, RunOp1("BatchToSpaceND", {blocks, Ints({2, 2}), pads}));
  ExpectTensorEqual(back, x);
  ASSERT_OK_AND_ASSIGN(Tensor depth,
                       RunOp1("SpaceToDepth", {F({1, 2, 3, 4}, {1, 2, 2, 1})}, Attrs().Set("block_size", int64_t{2})));
  ExpectTensorEqual(depth, F({1, 2, 3, 4}, {1, 1, 1, 4}));
}

TEST_F(SpaceBatchTest, BlockSizesAreChecked) {
  const Tensor x = F({1, 2, 3, 4}, {1, 4}), none = AsTensor<int64_t>({0, 0}, {1, 2});
  ExpectErrors({
      {"SpaceToBatchND", {x, Ints({0}), none}, "must be positive"},
      {"SpaceToBatchND", {x, Ints({3}), none}, "is not divisible"},
      {"SpaceToBatchND",
       {x, AsTensor<int64_t>({std::numeric_limits<int64_t>::max()}),
        AsTensor<int64_t>({std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::max()}, {1, 2})},
       "out of range"},
      {"SpaceToBatchND", {x, Ints({2, 2}), none}, "should have shape [2, 2]"},
      {"SpaceToBatchND", {x, Ints({2, 2}), AsTensor<int64_t>({0, 0, 0, 0}, {2, 2})}, "rank should be >= 3"},
      {"BatchToSpaceND", {x, Ints({2}), none}, "is not divisible"},
      {"BatchToSpaceND", {x, Ints({1}), AsTensor<int32_t>({2, 3}, {1, 2})}, "cropped_shape[0]=-1 must be non-negative"},
      {"DepthToSpace",
       {F({}, {1, 1, 1, 0})},
       "Block size should be > 1 and <= 46340 but was: 46341",
       Attrs().Set("block_size", int64_t{46341})},
      {"SpaceToDepth", {F({1}, {1})}, "Input rank should be 4 instead of 1", Attrs().Set("block_size", int64_t{2})},
      {"BatchToSpaceND",
       {x, Ints({1}),
        AsTensor<int64_t>({std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::max()}, {1, 2})},
       "must be non-negative"},
      {"BatchToSpaceND",
       {x, AsTensor<int64_t>({std::numeric_limits<int64_t>::max(), 2}), AsTensor<int64_t>({0, 0, 0, 0}, {2, 2})},
       ""},
  });
}

}  // namespace
}  // namespace weir
