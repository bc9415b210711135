#include <set>

#include "kernels/op_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

class ClustersTest : public OpTest {
 protected:
  const Tensor points_ = AsTensor<float>({0, 0, 3, 4, 10, 0}, {3, 2});
};

TEST_F(ClustersTest, TheNearestCentersComeFirst) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> found,
                       RunOp("NearestNeighbors", {AsTensor<float>({1, 0}, {1, 2}), points_, AsScalar<int64_t>(2)}));
  ExpectTensorEqual(found[0], AsTensor<int64_t>({0, 1}, {1, 2}));
  ExpectTensorNear(found[1], AsTensor<float>({1, 20}, {1, 2}), 1e-5, 1e-5);
  const Tensor nowhere = AsTensor<float>({NAN, 0}, {1, 2});
  EXPECT_THAT(RunOp("NearestNeighbors", {nowhere, points_, AsScalar<int64_t>(9)}), IsOk());
  EXPECT_THAT(RunOp("NearestNeighbors", {points_, points_, AsScalar<int64_t>(-1)}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(ClustersTest, NoPointIsTakenTwice) {
  const Tensor same = AsTensor<float>({1, 1, 1, 1}, {4, 1});
  for (const Tensor& points : {points_, same}) {
    const int64_t n = points.dim_size(0);
    for (const int64_t retries : {0, 2}) {
      ASSERT_OK_AND_ASSIGN(const Tensor taken,
                           RunOp1("KmeansPlusPlusInitialization",
                                  {points, AsScalar<int64_t>(n), AsScalar<int64_t>(5), AsScalar<int64_t>(retries)}));
      const std::multiset<float> found(taken.data<float>(), taken.data<float>() + taken.NumElements());
      EXPECT_EQ(found, std::multiset<float>(points.data<float>(), points.data<float>() + points.NumElements()));
    }
  }
  const Tensor one = AsScalar<int64_t>(1);
  EXPECT_THAT(RunOp("KmeansPlusPlusInitialization", {points_, AsScalar<int64_t>(4), one, one}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("num_to_sample <= points.rows()")));
}

TEST_F(ClustersTest, PointsWithoutCoordinatesCostLittle) {
  const auto points = [](int64_t n) { return Tensor(DT_FLOAT, TensorShape({n, 0})); };
  const Tensor one = AsScalar<int64_t>(1);
  EXPECT_THAT(RunOp("NearestNeighbors", {points(1), points(3), one}), IsOk());
  EXPECT_THAT(RunOp("KmeansPlusPlusInitialization", {points(3), one, one, one}), IsOk());
  const Tensor many = points(int64_t{1} << 33);
  EXPECT_THAT(RunOp("NearestNeighbors", {points(1), many, one}), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(RunOp("KmeansPlusPlusInitialization", {many, one, one, one}),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST_F(ClustersTest, WorkEndsWhenItIsCancelled) {
  const Tensor points(DT_FLOAT, TensorShape({1 << 20, 1})), retries = AsScalar<int64_t>(1'000'000);
  cancellation().StartCancel(absl::CancelledError("enough"));
  EXPECT_THAT(RunOp("KmeansPlusPlusInitialization", {points, AsScalar<int64_t>(1), AsScalar<int64_t>(1), retries}),
              StatusIs(absl::StatusCode::kCancelled));
}

TEST_F(ClustersTest, AChainGoesToWhatIsFar) {
  const Tensor distances = AsTensor<float>({0, 0, 5, 0});
  ASSERT_OK_AND_ASSIGN(const Tensor index, RunOp1("KMC2ChainInitialization", {distances, AsScalar<int64_t>(3)}));
  ExpectTensorEqual(index, AsScalar<int64_t>(2));
}

}  // namespace
}  // namespace weir
