#include "kernels/op_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
using Code = absl::StatusCode;

Tensor Strings(std::vector<tstring> values) { return AsTensor<tstring>(std::move(values)); }
Tensor Pattern(tstring value) { return AsScalar<tstring>(std::move(value)); }

class RegexTest : public OpTest {};

TEST_F(RegexTest, MatchesAreOfTheWholeText) {
  ASSERT_OK_AND_ASSIGN(Tensor matched, RunOp1("StaticRegexFullMatch", {Strings({"s3://b/c", "/tmp", "xs3://"})},
                                              Attrs().Set("pattern", "^s3://.*")));
  ExpectTensorEqual(matched, AsTensor<bool>({true, false, false}));
  ASSERT_OK_AND_ASSIGN(matched, RunOp1("RegexFullMatch", {Strings({"aab", "aa"}), Pattern("a+")}));
  ExpectTensorEqual(matched, AsTensor<bool>({false, true}));
  EXPECT_THAT(RunOp1("RegexFullMatch", {Strings({"a"}), Pattern("(")}),
              StatusIs(Code::kInvalidArgument, HasSubstr("Invalid pattern: (, error: ")));
  EXPECT_THAT(RunOp1("RegexFullMatch", {Strings({"a"}), Strings({"a"})}), StatusIs(Code::kInvalidArgument));
}

}  // namespace
}  // namespace weir
