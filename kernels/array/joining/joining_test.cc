#include "kernels/device/kernel_inputs_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

using JoiningTest = KernelInputsTest;

TEST_F(JoiningTest, ConcatAndSplitAreInverse) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const Tensor x = Counting({2, 6});
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> parts,
                       RunOp("Split", {AsScalar<int32_t>(1), x}, Attrs().Set("num_split", int64_t{3})));
  ExpectTensorEqual(parts[1], AsTensor<int32_t>({2, 3, 8, 9}, {2, 2}));
  ASSERT_OK_AND_ASSIGN(Tensor whole, RunOp1("ConcatV2", {parts[0], parts[1], parts[2], AsScalar<int32_t>(-1)},
                                            Attrs().Set("N", int64_t{3})));
  ExpectTensorEqual(whole, x);
  EXPECT_THAT(RunOp("Split", {AsScalar<int32_t>(1), x}, Attrs().Set("num_split", int64_t{4})),
              StatusIs(kInvalid, HasSubstr("evenly divide")));
  EXPECT_THAT(
      RunOp("SplitV", {x, AsTensor<int64_t>({kMax, kMax}), AsScalar<int32_t>(1)}, Attrs().Set("num_split", int64_t{2})),
      StatusIs(kInvalid));
}

}  // namespace
}  // namespace weir
