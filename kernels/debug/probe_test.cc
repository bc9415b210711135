#include "kernels/device/kernel_inputs_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

using ProbeTest = KernelInputsTest;

TEST_F(ProbeTest, StubsAndLabels) {
  const Attrs name = Attrs().Set("shared_name", std::string("stub"));
  ASSERT_OK_AND_ASSIGN(Tensor handle, RunOp1("StubResourceHandleOp", {}, name));
  ASSERT_OK_AND_ASSIGN(Tensor before, RunOp1("ResourceInitializedOp", {handle}));
  ExpectTensorEqual(before, AsScalar<bool>(false));
  EXPECT_THAT(RunOp("ResourceUsingOp", {handle}), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(RunOp("ResourceCreateOp", {handle}).status(), IsOk());
  ASSERT_OK_AND_ASSIGN(Tensor after, RunOp1("ResourceInitializedOp", {handle}));
  ExpectTensorEqual(after, AsScalar<bool>(true));
  EXPECT_THAT(RunOp("ConstructionFails", {}), StatusIs(kInvalid, HasSubstr("Failure during construction")));
}

}  // namespace
}  // namespace weir
