#include "kernels/data/dataset_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

class AssertedChainTest : public DatasetPipelineTest {
 protected:
  absl::StatusOr<Tensor> Asserted(std::vector<tstring> next) {
    ASSIGN_OR_RETURN(const Tensor asserted,
                     RunOp1("AssertNextDataset", {Range(5), AsTensor<tstring>(std::move(next))}, Types()));
    ASSIGN_OR_RETURN(const Tensor skipped, RunOp1("SkipDataset", {asserted, Int(1)}, Types()));
    return RunOp1("TakeDataset", {skipped, Int(2)}, Types());
  }
};

TEST_F(AssertedChainTest, AssertionsLookAtWhatComesBehind) {
  ASSERT_OK_AND_ASSIGN(const std::vector<int64_t> elements, Elements(Asserted({"FiniteSkip", "FiniteTake", "Root"})));
  EXPECT_EQ(elements, (std::vector<int64_t>{1, 2}));
  EXPECT_THAT(
      Elements(Asserted({"FiniteTake"})),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("at offset 0 but encountered FiniteSkip transformation")));
  EXPECT_THAT(Elements(Asserted({"a", "b", "c", "d"})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("Asserted next 4 transformations but encountered only 3.")));
}

TEST_F(AssertedChainTest, AssertionsAreNotFollowedTooDeep) {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += "attr{key:'a' value{func{";
  for (int i = 0; i < 100000; ++i) text += "}}}";
  EXPECT_THAT(Elements(RunOp1("AssertPrevDataset", {Range(3), AsTensor<tstring>({text})}, Types())),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("Couldn't parse transformation")));
}

}  // namespace
}  // namespace weir
