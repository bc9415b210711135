#include "kernels/data/dataset_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

using MultiDeviceIteratorTest = DatasetPipelineTest;

TEST_F(MultiDeviceIteratorTest, ShardsGetTheirElements) {
  const Attrs attrs = Types().Set("devices", std::vector<std::string>{"a", "b"});
  ASSERT_OK_AND_ASSIGN(const Tensor iterator, RunOp1("AnonymousMultiDeviceIteratorV3", {}, attrs));
  const auto next = [&](int32_t shard, int64_t incarnation) {
    return RunOp1("MultiDeviceIteratorGetNextFromShard", {iterator, AsScalar<int32_t>(shard), Int(incarnation)},
                  Types());
  };
  EXPECT_THAT(next(0, 1), StatusIs(absl::StatusCode::kFailedPrecondition));
  ASSERT_OK_AND_ASSIGN(const Tensor pass, RunOp1("MultiDeviceIteratorInit", {Range(3), iterator, Int(2)}));
  const int64_t number = pass.scalar<int64_t>();
  ASSERT_OK_AND_ASSIGN(const Tensor second, next(1, number));
  ExpectTensorEqual(second, Int(1));
  ASSERT_OK_AND_ASSIGN(const Tensor first, next(0, number));
  ExpectTensorEqual(first, Int(0));
  EXPECT_THAT(next(1, number), StatusIs(absl::StatusCode::kOutOfRange));
  ASSERT_OK_AND_ASSIGN(const Tensor third, next(0, number));
  ExpectTensorEqual(third, Int(2));
  EXPECT_THAT(next(7, number), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(next(0, number + 1), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("Invalid incarnation id")));
}

}  // namespace
}  // namespace weir
