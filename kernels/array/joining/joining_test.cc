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
  const auto split = [this](std::vector<int64_t> sizes, const Tensor& axis) {
    const int64_t pieces = sizes.size();
    return RunOp("SplitV", {AsTensor<float>({1, 2, 3}), AsTensor<int64_t>(sizes), axis},
                 Attrs().Set("num_split", pieces));
  };
  EXPECT_THAT(split({1, 2}, AsTensor<int32_t>({0})), IsOk());
  EXPECT_THAT(split({1, 2}, AsTensor<int32_t>({0, 0})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("must have exactly one element")));
  EXPECT_THAT(split({2}, AsScalar<int32_t>(0)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("Input size: 3 output size: 2")));
  EXPECT_THAT(split({5, -2}, AsScalar<int32_t>(0)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("Split size at index 1 must be >= 0. Got: -2")));
  EXPECT_THAT(RunOp("Split", {AsScalar<int32_t>(1), x}, Attrs().Set("num_split", int64_t{4})),
              StatusIs(kInvalid, HasSubstr("evenly divide")));
  EXPECT_THAT(
      RunOp("SplitV", {x, AsTensor<int64_t>({kMax, kMax}), AsScalar<int32_t>(1)}, Attrs().Set("num_split", int64_t{2})),
      StatusIs(kInvalid));
}

}  // namespace
}  // namespace weir
