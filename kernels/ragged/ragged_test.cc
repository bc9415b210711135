// Ragged kernels, and errors on bad splits. differential.py compares them with TensorFlow.
#include "kernels/op_testing.h"
#include "kernels/ragged/ragged_variant.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
using Code = absl::StatusCode;

Tensor RaggedLongs(std::vector<int64_t> values) { return AsTensor<int64_t>(std::move(values)); }

class RaggedTest : public OpTest {
 protected:
  const Tensor values_ = AsTensor<float>({1, 2, 3});
};

TEST_F(RaggedTest, SplitsAreChecked) {
  const Attrs to_tensor = Attrs().Set("row_partition_types", std::vector<std::string>{"ROW_SPLITS"});
  const std::vector<std::vector<int64_t>> bad = {{}, {1, 3}, {0, 2, 1, 3}, {0, 2}, {0, 4}, {0, int64_t{1} << 60}};
  for (const std::vector<int64_t>& splits : bad) {
    EXPECT_THAT(RunOp("RaggedTensorToSparse", {RaggedLongs(splits), values_}), StatusIs(Code::kInvalidArgument));
    EXPECT_THAT(RunOp("RaggedGather", {RaggedLongs(splits), values_, RaggedLongs({0})},
                      Attrs().Set("OUTPUT_RAGGED_RANK", int64_t{1})),
                StatusIs(Code::kInvalidArgument));
    EXPECT_THAT(RunOp("RaggedTensorToVariant", {RaggedLongs(splits), values_}, Attrs().Set("batched_input", true)),
                StatusIs(Code::kInvalidArgument));
    if (splits.size() == 2 && splits.back() < 3) continue;  // values behind the last row are left out here
    EXPECT_FALSE(
        RunOp("RaggedTensorToTensor", {AsScalar<int64_t>(-1), values_, AsScalar(0.f), RaggedLongs(splits)}, to_tensor)
            .ok());
  }
  EXPECT_THAT(RunOp("RaggedGather", {RaggedLongs({0, 1, 3}), values_, RaggedLongs({2})},
                    Attrs().Set("OUTPUT_RAGGED_RANK", int64_t{1})),
              StatusIs(Code::kInvalidArgument, HasSubstr("indices[0] = 2 is not in [0, 2)")));
}

TEST_F(RaggedTest, AScalarGathersOneRow) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> row,
                       RunOp("RaggedGather", {RaggedLongs({0, 2, 3}), values_, AsScalar<int64_t>(0)},
                             Attrs().Set("OUTPUT_RAGGED_RANK", int64_t{0})));
  ASSERT_EQ(row.size(), 1);
  ExpectTensorEqual(row[0], AsTensor<float>({1, 2}));
  ASSERT_OK_AND_ASSIGN(
      const std::vector<Tensor> rows,
      RunOp("RaggedGather", {RaggedLongs({0, 1, 3}), RaggedLongs({0, 1, 1, 3}), values_, AsScalar<int64_t>(1)},
            Attrs().Set("OUTPUT_RAGGED_RANK", int64_t{1})));
  ASSERT_EQ(rows.size(), 2);
  ExpectTensorEqual(rows[0], RaggedLongs({0, 0, 2}));
  ExpectTensorEqual(rows[1], AsTensor<float>({2, 3}));
}

TEST_F(RaggedTest, MissingElementsAreTheDefault) {
  ASSERT_OK_AND_ASSIGN(
      const Tensor dense,
      RunOp1("RaggedTensorToTensor", {AsScalar<int64_t>(-1), values_, AsScalar(9.f), RaggedLongs({0, 2, 2, 3})},
             Attrs().Set("row_partition_types", std::vector<std::string>{"ROW_SPLITS"})));
  ExpectTensorEqual(dense, AsTensor<float>({1, 2, 9, 9, 3, 9}, {3, 2}));
}

TEST_F(RaggedTest, CrossesAreByRow) {
  const auto attrs = [](const char* order) {
    return Attrs()
        .Set("input_order", order)
        .Set("hashed_output", false)
        .Set("num_buckets", int64_t{0})
        .Set("hash_key", int64_t{0})
        .Set("Nsparse", int64_t{0})
        .Set("ragged_values_types", DataTypeVector{DT_INT64})
        .Set("ragged_splits_types", DataTypeVector{DT_INT64})
        .Set("sparse_values_types", DataTypeVector{})
        .Set("dense_types", DataTypeVector{DT_STRING})
        .Set("out_values_type", DT_STRING)
        .Set("out_row_splits_type", DT_INT64);
  };
  const Tensor numbers = RaggedLongs({1, 2, 3}), names = AsTensor<tstring>({"a", "b", "c", "d"}, {2, 2});
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> crosses,
                       RunOp("RaggedCross", {numbers, RaggedLongs({0, 1, 3}), names}, attrs("RD")));
  ExpectTensorEqual(crosses[0], AsTensor<tstring>({"1_X_a", "1_X_b", "2_X_c", "2_X_d", "3_X_c", "3_X_d"}));
  ExpectTensorEqual(crosses[1], RaggedLongs({0, 2, 6}));
  for (const std::vector<int64_t>& splits : std::vector<std::vector<int64_t>>{{}, {0}, {0, 3}, {0, 1, 4}, {0, 4, 3}}) {
    EXPECT_THAT(RunOp("RaggedCross", {numbers, RaggedLongs(splits), names}, attrs("RD")),
                StatusIs(Code::kInvalidArgument));
  }
  EXPECT_THAT(RunOp("RaggedCross", {numbers, RaggedLongs({0, 1, 3}), names}, attrs("RR")),
              StatusIs(Code::kInvalidArgument, HasSubstr("input_order")));
}

TEST_F(RaggedTest, RangesDoNotOverflow) {
  ASSERT_OK_AND_ASSIGN(
      const std::vector<Tensor> out,
      RunOp("RaggedRange", {AsTensor<int32_t>({2, 5}), AsTensor<int32_t>({6, 5}), AsScalar<int32_t>(3)}));
  ExpectTensorEqual(out[0], RaggedLongs({0, 2, 2}));
  ExpectTensorEqual(out[1], AsTensor<int32_t>({2, 5}));
  EXPECT_THAT(RunOp("RaggedRange", {AsScalar<int64_t>(0), AsScalar(INT64_MAX), AsScalar<int64_t>(1)},
                    Attrs().Set("Tsplits", DT_INT32)),
              StatusIs(Code::kInvalidArgument, HasSubstr("overflowed")));
  EXPECT_THAT(RunOp("RaggedRange", {AsScalar(0.f), AsScalar(1e30f), AsScalar(1e-30f)}),
              StatusIs(Code::kInvalidArgument, HasSubstr("(limit - start) / delta")));
  EXPECT_THAT(RunOp("RaggedRange", {AsScalar(0.f), AsScalar(1.f), AsScalar(0.f)}),
              StatusIs(Code::kInvalidArgument, HasSubstr("Requires delta != 0")));
}

TEST_F(RaggedTest, VariantsPassBetweenProcesses) {
  ASSERT_OK_AND_ASSIGN(Tensor rows, RunOp1("RaggedTensorToVariant", {RaggedLongs({0, 2, 2, 3}), values_},
                                           Attrs().Set("batched_input", true)));
  std::string metadata;
  std::vector<Tensor> tensors;
  for (Variant& row : rows.flat<Variant>()) {
    ASSERT_THAT(row.value()->Encode(&metadata, &tensors), IsOk());
    row = Variant(std::make_shared<EncodedVariant>(RaggedVariant::kTypeName, metadata, tensors));
  }
  ASSERT_OK_AND_ASSIGN(
      const std::vector<Tensor> back,
      RunOp(
          "RaggedTensorFromVariant", {rows},
          Attrs().Set("input_ragged_rank", int64_t{0}).Set("output_ragged_rank", int64_t{1}).Set("Tvalues", DT_FLOAT)));
  ExpectTensorEqual(back[0], RaggedLongs({0, 2, 2, 3}));
  ExpectTensorEqual(back[1], values_);
  EXPECT_THAT(
      RunOp(
          "RaggedTensorFromVariant", {Tensor(DT_VARIANT, TensorShape({2}))},
          Attrs().Set("input_ragged_rank", int64_t{0}).Set("output_ragged_rank", int64_t{1}).Set("Tvalues", DT_FLOAT)),
      StatusIs(Code::kInvalidArgument, HasSubstr("doesn't hold a RaggedTensorVariant")));
}

}  // namespace
}  // namespace weir
