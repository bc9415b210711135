#include "kernels/op_testing.h"
#include "tensorflow/core/framework/summary.pb.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

class SummaryTest : public OpTest {
 protected:
  static Tensor S(std::vector<tstring> values) { return AsTensor<tstring>(std::move(values)); }
  static Tensor Text(tstring value) { return AsScalar<tstring>(std::move(value)); }
};

TEST_F(SummaryTest, SummariesHoldTagsAndValues) {
  ASSERT_OK_AND_ASSIGN(Tensor loss, RunOp1("ScalarSummary", {Text("loss"), AsScalar<double>(0.5)}));
  ASSERT_OK_AND_ASSIGN(Tensor more, RunOp1("ScalarSummary", {S({"a", "b"}), AsTensor<int32_t>({1, 2})}));
  ASSERT_OK_AND_ASSIGN(Tensor merged, RunOp1("MergeSummary", {loss, more}));
  tensorflow::Summary summary;
  ASSERT_TRUE(summary.ParseFromString(merged.scalar<tstring>()));
  ASSERT_EQ(summary.value_size(), 3);
  EXPECT_EQ(summary.value(0).tag(), "loss");
  EXPECT_EQ(summary.value(0).simple_value(), 0.5);
  EXPECT_EQ(summary.value(2).simple_value(), 2);
  EXPECT_THAT(RunOp1("MergeSummary", {loss, loss}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("Duplicate tag loss")));
  EXPECT_THAT(RunOp1("MergeSummary", {Text("\xff")}), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(RunOp1("ScalarSummary", {S({"a"}), AsScalar<float>(1)}), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace weir
