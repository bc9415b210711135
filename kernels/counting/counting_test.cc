#include "kernels/device/kernel_inputs_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

using CountingTest = KernelInputsTest;

TEST_F(CountingTest, UnravelIndexMultipliesInTheTypeOfItsIndices) {
  EXPECT_THAT(RunOp1("UnravelIndex", {AsScalar<int32_t>(1), AsTensor<int32_t>({1 << 28, 1 << 28})}),
              StatusIs(kInvalid, HasSubstr("causing integer overflow")));
  ASSERT_OK_AND_ASSIGN(Tensor below, RunOp1("UnravelIndex", {AsScalar<int32_t>(-1), AsTensor<int32_t>({7, 6})}));
  ExpectTensorEqual(below, AsTensor<int32_t>({0, -1}));
}

TEST_F(CountingTest, BincountInParts) {
  const int64_t n = 200'001;
  const Tensor x = Integers(n, 1500), none(DT_INT32, TensorShape({0}));
  std::vector<int32_t> expected(1000), present(1000);
  for (int32_t v : x.flat<int32_t>()) {
    if (v < 1000) ++expected[v], present[v] = 1;
  }
  ASSERT_OK_AND_ASSIGN(Tensor counts, RunOp1("DenseBincount", {x, AsScalar<int32_t>(1000), none}));
  ExpectTensorEqual(counts, AsTensor<int32_t>(expected));
  ASSERT_OK_AND_ASSIGN(counts,
                       RunOp1("DenseBincount", {x, AsScalar<int32_t>(1000), none}, Attrs().Set("binary_output", true)));
  ExpectTensorEqual(counts, AsTensor<int32_t>(present));
  Tensor negative = x;
  negative.data<int32_t>()[n - 1] = -1;
  EXPECT_THAT(RunOp1("DenseBincount", {negative, AsScalar<int32_t>(1000), none}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("non-negative")));
}

}  // namespace
}  // namespace weir
