#include <map>

#include "kernels/device/kernel_inputs_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

using IndexingTest = KernelInputsTest;

TEST_F(IndexingTest, GatherChecksEveryIndex) {
  const Tensor x = Counting({3, 2}), axis = AsScalar<int32_t>(0);
  ASSERT_OK_AND_ASSIGN(Tensor rows, RunOp1("GatherV2", {x, AsTensor<int32_t>({2, 0}), axis}));
  ExpectTensorEqual(rows, AsTensor<int32_t>({4, 5, 0, 1}, {2, 2}));
  EXPECT_THAT(RunOp1("GatherV2", {x, AsTensor<int32_t>({0, 3}), axis}),
              StatusIs(kInvalid, HasSubstr("indices[1] = 3 is not in [0, 3)")));
  EXPECT_THAT(RunOp1("GatherV2", {x, AsTensor<int64_t>({-1}), axis}), StatusIs(kInvalid));
  EXPECT_THAT(RunOp1("GatherNd", {x, AsTensor<int32_t>({0, 2}, {1, 2})}),
              StatusIs(kInvalid, HasSubstr("does not index into")));
  EXPECT_THAT(RunOp1("GatherNd", {x, AsTensor<int32_t>({0, 0, 0}, {1, 3})}),
              StatusIs(kInvalid, HasSubstr("innermost dimension")));
}

TEST_F(IndexingTest, ABadIndexIsNamedByItsPlace) {
  const Tensor x = Counting({3, 2}), indices = AsTensor<int32_t>({0, 3}, {1, 2, 1});
  EXPECT_THAT(RunOp1("GatherNd", {x, indices}),
              StatusIs(kInvalid, HasSubstr("indices[0,1] = [3] does not index into param shape [3,2], node name: ")));
  EXPECT_THAT(RunOp1("ScatterNd", {indices, Counting({1, 2, 2}), AsTensor<int32_t>({3, 2})}),
              StatusIs(kInvalid, HasSubstr("indices[0,1] = [3] does not index into shape [3,2]")));
  EXPECT_THAT(RunOp1("GatherNd", {Tensor(DT_FLOAT, {0}), AsTensor<int32_t>({0}, {1, 1})}),
              StatusIs(kInvalid, HasSubstr("Requested more than 0 entries, but params is empty")));
}

TEST_F(IndexingTest, UpdatesMustFitIndicesAndShape) {
  const Tensor one = AsTensor<int32_t>({0}, {1, 1}), shape = AsTensor<int32_t>({3, 2}), x = Counting({3, 2});
  EXPECT_THAT(RunOp1("ScatterNd", {one, Counting({2, 2}), shape}),
              StatusIs(kInvalid, HasSubstr("Dimensions [0,1) of indices[shape=[1,1]] must match dimensions [0,1) of "
                                           "updates[shape=[2,2]]")));
  EXPECT_THAT(RunOp1("ScatterNd", {one, Counting({1, 3}), shape}),
              StatusIs(kInvalid, HasSubstr("Dimensions [1,2) of input[shape=[3,2]] must match dimensions [1,2) of "
                                           "updates[shape=[1,3]]")));
  EXPECT_THAT(RunOp1("TensorScatterAdd", {x, one, Counting({2, 2})}),
              StatusIs(kInvalid, HasSubstr("Outer dimensions of indices and update must match")));
  EXPECT_THAT(RunOp1("TensorScatterAdd", {x, one, Counting({1, 3})}),
              StatusIs(kInvalid, HasSubstr("The inner 1 dimensions of output.shape=[3,2] must match the inner 1 "
                                           "dimensions of updates.shape=[1,3]")));
  EXPECT_THAT(RunOp1("TensorScatterAdd", {AsScalar<int32_t>(1), one, Counting({1})}),
              StatusIs(kInvalid, HasSubstr("Inner dimensions of output shape must match inner dimensions of updates")));
  EXPECT_THAT(RunOp1("TensorScatterAdd", {x, AsTensor<int32_t>({0, 0, 0}, {1, 3}), Counting({1})}), StatusIs(kInvalid));
}

TEST_F(IndexingTest, ScatterAddsRepeatedIndices) {
  const Tensor indices = AsTensor<int32_t>({1, 1}, {2, 1}), updates = AsTensor<float>({2, 3});
  ASSERT_OK_AND_ASSIGN(Tensor out, RunOp1("ScatterNd", {indices, updates, AsTensor<int32_t>({3})}));
  ExpectTensorEqual(out, AsTensor<float>({0, 5, 0}));
  EXPECT_THAT(RunOp1("ScatterNd", {indices, updates, AsTensor<int32_t>({1})}), StatusIs(kInvalid));
  EXPECT_THAT(RunOp1("ScatterNd", {indices, AsTensor<float>({1}), AsTensor<int32_t>({3})}), StatusIs(kInvalid));
}

TEST_F(IndexingTest, TensorScatterLeavesASharedInputAlone) {
  const Tensor x = AsTensor<float>({1, 2, 3});
  ASSERT_OK_AND_ASSIGN(Tensor out,
                       RunOp1("TensorScatterUpdate", {x, AsTensor<int32_t>({0}, {1, 1}), AsTensor<float>({9})}));
  ExpectTensorEqual(out, AsTensor<float>({9, 2, 3}));
  ExpectTensorEqual(x, AsTensor<float>({1, 2, 3}));
}

TEST_F(IndexingTest, PartitionAndStitchAreInverse) {
  const Tensor data = AsTensor<float>({10, 20, 30, 40}), to = AsTensor<int32_t>({1, 0, 1, 0});
  const Attrs two = Attrs().Set("num_partitions", int64_t{2});
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> parts, RunOp("DynamicPartition", {data, to}, two));
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> places, RunOp("DynamicPartition", {Counting({4}), to}, two));
  ASSERT_OK_AND_ASSIGN(
      Tensor whole, RunOp1("DynamicStitch", {places[0], places[1], parts[0], parts[1]}, Attrs().Set("N", int64_t{2})));
  ExpectTensorEqual(whole, data);
  EXPECT_THAT(RunOp("DynamicPartition", {data, AsTensor<int32_t>({0, 1, 2, 0})}, two),
              StatusIs(kInvalid, HasSubstr("partitions[2] = 2 is not in [0, 2)")));
}

TEST_F(IndexingTest, UniqueKeepsTheOrderOfFirstAppearance) {
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> out, RunOp("UniqueWithCounts", {AsTensor<int64_t>({7, 3, 7, 7, 1})}));
  ExpectTensorEqual(out[0], AsTensor<int64_t>({7, 3, 1}));
  ExpectTensorEqual(out[1], AsTensor<int32_t>({0, 1, 0, 0, 2}));
  ExpectTensorEqual(out[2], AsTensor<int32_t>({3, 1, 1}));
}

TEST_F(IndexingTest, UniqueOfManyIntegers) {
  const int64_t n = 50'021;
  const Tensor x = Integers(n, 9000);
  std::map<int32_t, int32_t> number;
  std::vector<int32_t> values, indices, counts;
  for (int32_t v : x.flat<int32_t>()) {
    const auto [entry, added] = number.try_emplace(v, static_cast<int32_t>(values.size()));
    if (added) values.push_back(v), counts.push_back(0);
    ++counts[entry->second];
    indices.push_back(entry->second);
  }
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> out, RunOp("UniqueWithCounts", {x}));
  ExpectTensorEqual(out[0], AsTensor<int32_t>(values));
  ExpectTensorEqual(out[1], AsTensor<int32_t>(indices));
  ExpectTensorEqual(out[2], AsTensor<int32_t>(counts));
  ASSERT_OK_AND_ASSIGN(out, RunOp("Unique", {Tensor(DT_INT64, TensorShape({0}))}, Attrs().Set("out_idx", DT_INT64)));
  EXPECT_EQ(out[0].NumElements() + out[1].NumElements(), 0);
}

TEST_F(IndexingTest, WhereFindsAllCoordinatesInOrder) {
  Tensor x = Floats({61, 7, 331});
  for (float& v : x.flat<float>()) v = v < 0 ? -0.0f : v < 0.1f ? kNaN : v;
  ASSERT_OK_AND_ASSIGN(Tensor out, RunOp1("Where", {x}));
  int64_t row = 0;
  for (int64_t i = 0; i < x.NumElements(); ++i) {
    if (x.data<float>()[i] == 0) continue;
    ASSERT_LT(row, out.dim_size(0));
    const int64_t* const at = out.data<int64_t>() + 3 * row++;
    ASSERT_EQ((at[0] * 7 + at[1]) * 331 + at[2], i);
    ASSERT_LT(at[1], 7);
    ASSERT_LT(at[2], 331);
  }
  EXPECT_EQ(row, out.dim_size(0));
}

}  // namespace
}  // namespace weir
