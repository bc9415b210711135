#include <limits>

#include "kernels/device/kernel_inputs_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

using ParallelStringsTest = KernelInputsTest;

TEST_F(ParallelStringsTest, TheFirstErrorOfManyStrings) {
  std::vector<tstring> text(20'000, "1.5");
  text[9'001] = "first";
  text[19'000] = "second";
  EXPECT_THAT(RunOp1("StringToNumber", {AsTensor<tstring>(text)}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("first")));
  EXPECT_THAT(RunOp1("Substr", {AsTensor<tstring>(text), AsScalar<int32_t>(4), AsScalar<int32_t>(1)}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("index 0")));
  ASSERT_OK_AND_ASSIGN(Tensor numbers,
                       RunOp1("AsString", {AsTensor<int64_t>({std::numeric_limits<int64_t>::min(), 0})}));
  ExpectTensorEqual(numbers, AsTensor<tstring>({"-9223372036854775808", "0"}));
}

}  // namespace
}  // namespace weir
