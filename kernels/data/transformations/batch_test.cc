#include "kernels/data/dataset_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kEndless = int64_t{1} << 62;

using BatchDatasetTest = DatasetPipelineTest;

TEST_F(BatchDatasetTest, BatchesOfOtherSizes) {
  const Tensor sizes = AsTensor<int64_t>({2, 3}), keep = AsScalar<bool>(false), drop = AsScalar<bool>(true);
  const auto rebatch = [&](const Tensor& rest) {
    return RunOp1("RebatchDatasetV2", {Batches(6, 4), sizes, rest}, Types());
  };
  const Tensor first = AsTensor<int64_t>({0, 1}), second = AsTensor<int64_t>({2, 3, 4});
  ExpectElements(rebatch(keep), {first, second, AsTensor<int64_t>({5})});
  ExpectElements(rebatch(drop), {first, second});
  ExpectElements(RunOp1("RebatchDataset", {Batches(5, 4), Int(2)}, Types()),
                 {first, AsTensor<int64_t>({2, 3}), AsTensor<int64_t>({4}), AsTensor<int64_t>({})});
  ExpectElements(RunOp1("SlidingWindowDataset", {Range(5), Int(3), Int(2), Int(1)}, Types()),
                 {AsTensor<int64_t>({0, 1, 2}), AsTensor<int64_t>({2, 3, 4})});
  ExpectElements(RunOp1("AutoShardDataset", {Range(5), Int(2), Int(1)}, Types()), {Int(1), Int(3)});
  ExpectElements(RunOp1("ParallelBatchDataset", {Range(3), Int(2), Int(2), keep}, Types()),
                 {first, AsTensor<int64_t>({2})});
}

TEST_F(BatchDatasetTest, BadArgumentsAreRefused) {
  const Tensor range = Range(3), keep = AsScalar<bool>(false);
  const auto fails = [&](const char* op, std::vector<TestInput> inputs, const char* phrase) {
    EXPECT_THAT(RunOp(op, std::move(inputs), Types()), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(phrase)))
        << op;
  };
  fails("RebatchDatasetV2", {range, AsTensor<int64_t>({}), keep}, "must not be empty");
  fails("RebatchDatasetV2", {range, AsTensor<int64_t>({0, 0}), keep}, "greater than zero");
  fails("RebatchDatasetV2", {range, AsTensor<int64_t>({-1}), keep}, "non-negative");
  fails("RebatchDataset", {range, Int(0)}, "greater than zero");
  fails("SlidingWindowDataset", {range, Int(kEndless), Int(1), Int(kEndless)}, "too large");
  fails("AutoShardDataset", {range, Int(2), Int(2)}, "index should be");
  fails("DenseToSparseBatchDataset", {range, Int(0), AsTensor<int64_t>({-1})}, "greater than zero");
  fails("SleepDataset", {range, Int(-1)}, ">= 0");
  // Scalars have no rows; an endless request for memory is none.
  const Tensor handle =
      Iterate(*RunOp1("RebatchDatasetV2", {range, AsTensor<int64_t>({kEndless}), keep}, Types()), Types());
  EXPECT_THAT(RunOp("IteratorGetNext", {handle}, Types()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("scalars")));
}

}  // namespace
}  // namespace weir
