#include "core/op_kernel_testing.h"
#include "tensorflow/core/framework/summary.pb.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
using Code = absl::StatusCode;

Tensor S(std::vector<tstring> values) { return AsTensor<tstring>(std::move(values)); }
Tensor Text(tstring value) { return AsScalar<tstring>(std::move(value)); }

class TextTest : public KernelTest {
 protected:
  void SetUp() override {
    Register(RegisterTextOps, RegisterRegexKernels);
    Register([](OpRegistry&) { return absl::OkStatus(); }, RegisterSummaryKernels);
  }
};

TEST_F(TextTest, MatchesAreOfTheWholeText) {
  ASSERT_OK_AND_ASSIGN(Tensor matched, RunOp1("StaticRegexFullMatch", {S({"s3://b/c", "/tmp", "xs3://"})},
                                              Attrs().Set("pattern", "^s3://.*")));
  ExpectTensorEqual(matched, AsTensor<bool>({true, false, false}));
  ASSERT_OK_AND_ASSIGN(matched, RunOp1("RegexFullMatch", {S({"aab", "aa"}), Text("a+")}));
  ExpectTensorEqual(matched, AsTensor<bool>({false, true}));
  EXPECT_THAT(RunOp1("RegexFullMatch", {S({"a"}), Text("(")}),
              StatusIs(Code::kInvalidArgument, HasSubstr("Invalid pattern: (, error: ")));
  EXPECT_THAT(RunOp1("RegexFullMatch", {S({"a"}), S({"a"})}), StatusIs(Code::kInvalidArgument));
}

TEST_F(TextTest, SummariesHoldTagsAndValues) {
  ASSERT_OK_AND_ASSIGN(Tensor loss, RunOp1("ScalarSummary", {Text("loss"), AsScalar<double>(0.5)}));
  ASSERT_OK_AND_ASSIGN(Tensor more, RunOp1("ScalarSummary", {S({"a", "b"}), AsTensor<int32_t>({1, 2})}));
  ASSERT_OK_AND_ASSIGN(Tensor merged, RunOp1("MergeSummary", {loss, more}));
  tensorflow::Summary summary;
  ASSERT_TRUE(summary.ParseFromString(merged.scalar<tstring>()));
  ASSERT_EQ(summary.value_size(), 3);
  EXPECT_EQ(summary.value(0).tag(), "loss");
  EXPECT_EQ(summary.value(0).simple_value(), 0.5);
  EXPECT_EQ(summary.value(2).simple_value(), 2);
  EXPECT_THAT(RunOp1("MergeSummary", {loss, loss}), StatusIs(Code::kInvalidArgument, HasSubstr("Duplicate tag loss")));
  EXPECT_THAT(RunOp1("MergeSummary", {Text("\xff")}), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(RunOp1("ScalarSummary", {S({"a"}), AsScalar<float>(1)}), StatusIs(Code::kInvalidArgument));
}

}  // namespace
}  // namespace weir
