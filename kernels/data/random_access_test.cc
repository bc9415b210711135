// Elements by their index, and in global shuffles.
#include "kernels/data/dataset_testing.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class RandomAccessTest : public DatasetPipelineTest {
 protected:
  absl::StatusOr<Tensor> At(const absl::StatusOr<Tensor>& dataset, int64_t index, const Attrs& attrs = Types()) {
    RETURN_IF_ERROR(dataset.status());
    return RunOp1("GetElementAtIndex", {*dataset, Int(index)}, attrs);
  }
  absl::StatusOr<Tensor> GlobalShuffle(const absl::StatusOr<Tensor>& dataset) {
    RETURN_IF_ERROR(dataset.status());
    ASSIGN_OR_RETURN(const Tensor seeds, RunOp1("DummySeedGenerator", {}));
    return RunOp1("GlobalShuffleDataset", {*dataset, Int(3), Int(4), seeds}, Types());
  }
  absl::StatusOr<Tensor> Cardinality(const absl::StatusOr<Tensor>& dataset) {
    RETURN_IF_ERROR(dataset.status());
    return RunOp1("DatasetCardinality", {*dataset});
  }
  // Range(6) as two rows of three.
  absl::StatusOr<Tensor> Rows() { return RunOp1("BatchDatasetV2", {Range(6), Int(3), AsScalar<bool>(true)}, Types()); }
};

TEST_F(RandomAccessTest, UnbatchedRowsHaveIndices) {
  ASSERT_OK_AND_ASSIGN(const Tensor rows, Rows());
  const absl::StatusOr<Tensor> unbatched = RunOp1("UnbatchDataset", {rows}, Types());
  ASSERT_OK_AND_ASSIGN(const Tensor fifth, At(unbatched, 4));
  ExpectTensorEqual(fifth, Int(4));
  EXPECT_THAT(At(unbatched, 6), StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("[0, 6):6")));
}

TEST_F(RandomAccessTest, DatasetsWithoutIndicesSaySo) {
  const absl::StatusOr<Tensor> ignoring = RunOp1("IgnoreErrorsDataset", {Range(3)}, Types());
  EXPECT_THAT(At(ignoring, 0), StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("Random access is not")));
  EXPECT_THAT(GlobalShuffle(ignoring),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("IgnoreErrorsDataset does not support")));
}

TEST_F(RandomAccessTest, AssertedCardinalityIsChecked) {
  const absl::StatusOr<Tensor> asserted = RunOp1("AssertCardinalityDataset", {Range(2), Int(3)}, Types());
  EXPECT_THAT(At(asserted, 2), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("3 elements but index 2")));
  EXPECT_THAT(At(asserted, 3), StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("greater than dataset size 3")));
}

TEST_F(RandomAccessTest, ElementsMustHaveTheExpectedShape) {
  Attrs wrong;
  wrong.Set("output_types", DataTypeVector{DT_INT64});
  wrong.Set("output_shapes", std::vector<PartialTensorShape>{TensorShape({2})});
  EXPECT_THAT(At(Range(3), 0, wrong),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("Incompatible shapes at component 0")));
}

TEST_F(RandomAccessTest, ShuffleNeedsSomeElements) {
  const auto fails = [&](const char* op, int64_t count, absl::StatusCode code, const char* phrase) {
    EXPECT_THAT(GlobalShuffle(RunOp1(op, {Range(3), Int(count)}, Types())), StatusIs(code, HasSubstr(phrase)));
  };
  fails("RepeatDataset", 0, absl::StatusCode::kFailedPrecondition, "`repeat(0)`");
  fails("SkipDataset", -1, absl::StatusCode::kFailedPrecondition, "skip(-1)");
  fails("TakeDataset", 0, absl::StatusCode::kInvalidArgument, "Got cardinality 0");
  ASSERT_OK_AND_ASSIGN(const std::vector<int64_t> shuffled, Elements(GlobalShuffle(Range(4))));
  EXPECT_THAT(shuffled, UnorderedElementsAre(0, 1, 2, 3));
}

TEST_F(RandomAccessTest, RangesToTheLargestNumberAreInfinite) {
  const absl::StatusOr<Tensor> numbers = RunOp1("RangeDataset", {Int(0), Int(INT64_MAX), Int(1)}, Types());
  ASSERT_OK_AND_ASSIGN(const Tensor cardinality, Cardinality(numbers));
  ExpectTensorEqual(cardinality, Int(-1));
  ASSERT_THAT(numbers.status(), IsOk());
  ASSERT_OK_AND_ASSIGN(const std::vector<int64_t> taken, Elements(RunOp1("TakeDataset", {*numbers, Int(2)}, Types())));
  EXPECT_THAT(taken, ElementsAre(0, 1));
}

}  // namespace
}  // namespace weir
