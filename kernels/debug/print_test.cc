#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>

#include "kernels/device/kernel_inputs_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

using PrintTest = KernelInputsTest;

TEST_F(PrintTest, PrintAppendsToAFile) {
  const std::string path = absl::StrCat(::testing::TempDir(), "print_", getpid(), ".txt");
  for (const char* line : {"one", "two"}) {
    EXPECT_THAT(
        RunOp("PrintV2", {AsScalar<tstring>(line)}, Attrs().Set("output_stream", absl::StrCat("file://", path))),
        IsOk());
  }
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()), "one\ntwo\n");
  std::remove(path.c_str());
  EXPECT_THAT(RunOp("PrintV2", {AsScalar<tstring>("x")}, Attrs().Set("output_stream", "nowhere")),
              StatusIs(kInvalid, HasSubstr("Unknown output stream")));
}

TEST_F(PrintTest, AssertShowsItsData) {
  EXPECT_THAT(RunOp("Assert", {AsScalar<bool>(false), AsTensor<int32_t>({1, 2, 3, 4})}),
              StatusIs(kInvalid, HasSubstr("assertion failed: [1 2 3...]")));
  EXPECT_THAT(RunOp("Assert", {AsScalar<bool>(false), AsTensor<tstring>({"a b", "\n"})}),
              StatusIs(kInvalid, HasSubstr("assertion failed: [a b \\n]")));
  EXPECT_THAT(RunOp("Assert", {AsScalar<bool>(false), AsTensor<int32_t>({1, 2, 3, 4}, {2, 2})}),
              StatusIs(kInvalid, HasSubstr("assertion failed: [[1 2][3...]...]")));
  EXPECT_THAT(RunOp("Assert", {AsScalar<bool>(false), AsTensor<float>({0.1f, 1.0f / 3, 123456789.0f})}),
              StatusIs(kInvalid, HasSubstr("assertion failed: [0.1 0.333333343 123456792]")));
  EXPECT_THAT(RunOp("Assert", {AsScalar<bool>(true), AsTensor<int32_t>({1})}), IsOk());
}

}  // namespace
}  // namespace weir
