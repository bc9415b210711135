#include "kernels/containers/tensor_map.h"

#include "kernels/device/variant_nesting.h"
#include "kernels/library.h"
#include "kernels/op_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

class TensorMapTest : public OpTest {
 protected:
  Tensor Empty() { return Tensor::Scalar(Variant(std::make_shared<TensorMap>())); }
  absl::StatusOr<Tensor> Insert(const Tensor& map, const Tensor& key, const Tensor& value) {
    return RunOp1("TensorMapInsert", {map, key, value});
  }
  absl::StatusOr<Tensor> Lookup(const Tensor& map, const Tensor& key, DataType type = DT_FLOAT) {
    return RunOp1("TensorMapLookup", {map, key}, Attrs().Set("value_dtype", type));
  }
  absl::StatusOr<Tensor> Erase(const Tensor& map, const Tensor& key) {
    return RunOp1("TensorMapErase", {map, key}, Attrs().Set("value_dtype", DT_FLOAT));
  }
  void ExpectSize(const Tensor& map, int32_t size) {
    ASSERT_OK_AND_ASSIGN(const Tensor found, RunOp1("TensorMapSize", {map}));
    ExpectTensorEqual(found, AsScalar<int32_t>(size));
  }
  const Tensor one_ = AsScalar<float>(1), two_ = AsTensor<float>({2, 3});
};

TEST_F(TensorMapTest, KeysAreEqualByTypeShapeAndContents) {
  ASSERT_OK_AND_ASSIGN(Tensor map, Insert(Empty(), AsScalar<int32_t>(7), one_));
  ASSERT_OK_AND_ASSIGN(map, Insert(map, AsScalar<int64_t>(7), two_));
  ASSERT_OK_AND_ASSIGN(map, Insert(map, AsTensor<int32_t>({7}), two_));
  ASSERT_OK_AND_ASSIGN(map, Insert(map, AsScalar<tstring>("seven"), two_));
  ExpectSize(map, 4);
  ASSERT_OK_AND_ASSIGN(const Tensor found, Lookup(map, AsScalar<int32_t>(7)));
  ExpectTensorEqual(found, one_);
  ASSERT_OK_AND_ASSIGN(const Tensor named, Lookup(map, AsScalar<tstring>("seven")));
  ExpectTensorEqual(named, two_);
  EXPECT_THAT(Lookup(map, AsScalar<int32_t>(8)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("non-existent key")));
  EXPECT_THAT(Lookup(map, AsScalar<int32_t>(7), DT_INT32),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not int32")));
}

TEST_F(TensorMapTest, ACopyDoesNotChangeWithTheOriginal) {
  const Tensor key = AsScalar<int32_t>(7);
  ASSERT_OK_AND_ASSIGN(const Tensor first, Insert(Empty(), key, one_));
  ASSERT_OK_AND_ASSIGN(const Tensor second, Insert(first, key, two_));
  ASSERT_OK_AND_ASSIGN(const Tensor third, Erase(second, key));
  ASSERT_OK_AND_ASSIGN(const Tensor in_first, Lookup(first, key));
  ASSERT_OK_AND_ASSIGN(const Tensor in_second, Lookup(second, key));
  ExpectTensorEqual(in_first, one_);
  ExpectTensorEqual(in_second, two_);
  ExpectSize(third, 0);
  EXPECT_THAT(Erase(third, key), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("non-existent item")));
}

TEST_F(TensorMapTest, StackedKeysHaveOneTypeAndShape) {
  const auto keys = [this](const Tensor& map) {
    return RunOp1("TensorMapStackKeys", {map}, Attrs().Set("key_dtype", DT_INT32));
  };
  EXPECT_THAT(keys(Empty()), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("empty map")));
  ASSERT_OK_AND_ASSIGN(Tensor map, Insert(Empty(), AsScalar<int32_t>(7), one_));
  ASSERT_OK_AND_ASSIGN(const Tensor stacked, keys(map));
  ExpectTensorEqual(stacked, AsTensor<int32_t>({7}));
  ASSERT_OK_AND_ASSIGN(map, Insert(map, AsTensor<int32_t>({7}), one_));
  EXPECT_THAT(keys(map), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("same shape")));
  ASSERT_OK_AND_ASSIGN(map, Insert(Empty(), AsScalar<float>(7), one_));
  EXPECT_THAT(keys(map), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("requested dtype")));
}

TEST_F(TensorMapTest, MapsAreAddedByKeyAndZeroIsEmpty) {
  ASSERT_OK_AND_ASSIGN(const Tensor a, Insert(Empty(), AsScalar<int32_t>(1), two_));
  ASSERT_OK_AND_ASSIGN(Tensor b, Insert(a, AsScalar<int32_t>(2), one_));
  ASSERT_OK_AND_ASSIGN(const Tensor sum, RunOp1("AddN", {a, b}));
  ASSERT_OK_AND_ASSIGN(const Tensor both, Lookup(sum, AsScalar<int32_t>(1)));
  ExpectTensorEqual(both, AsTensor<float>({4, 6}));
  ASSERT_OK_AND_ASSIGN(const Tensor alone, Lookup(sum, AsScalar<int32_t>(2)));
  ExpectTensorEqual(alone, one_);
  ASSERT_OK_AND_ASSIGN(const Tensor zeros, RunOp1("ZerosLike", {sum}));
  ExpectSize(zeros, 0);
  ASSERT_OK_AND_ASSIGN(b, Insert(Empty(), AsScalar<int32_t>(1), one_));
  EXPECT_THAT(RunOp1("AddN", {a, b}), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(TensorMapTest, RefusesWhatIsNotAMap) {
  const Tensor key = AsScalar<int32_t>(7);
  EXPECT_THAT(Insert(Tensor::Scalar(Variant()), key, one_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not a map")));
  EXPECT_THAT(Insert(Tensor(DT_VARIANT, TensorShape({1})), key, one_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("scalar")));
  EXPECT_THAT(Insert(Empty(), Empty(), one_), StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("variant")));
}

TEST_F(TensorMapTest, NestsToALimit) {
  Tensor nested = Empty();
  absl::Status status;
  int depth = 1;
  for (; status.ok() && depth <= 2 * kMaxVariantDepth; ++depth) {
    absl::StatusOr<Tensor> outer = Insert(Empty(), AsScalar<int32_t>(7), nested);
    status = outer.status();
    if (outer.ok()) nested = *outer;
  }
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(depth, kMaxVariantDepth + 1);
}

TEST_F(TensorMapTest, SurvivesTheWire) {
  ASSERT_OK_AND_ASSIGN(Tensor map, Insert(Empty(), AsScalar<tstring>("a"), one_));
  ASSERT_OK_AND_ASSIGN(map, Insert(map, AsScalar<int32_t>(2), two_));
  std::string metadata;
  std::vector<Tensor> tensors;
  ASSERT_THAT(map.scalar<Variant>().value()->Encode(&metadata, &tensors), IsOk());
  VariantRegistry variants;
  ASSERT_THAT(RegisterAllVariants(variants), IsOk());
  Variant decoded(std::make_shared<EncodedVariant>(TensorMap::kTypeName, metadata, tensors));
  ASSERT_THAT(variants.Decode(&decoded), IsOk());
  ASSERT_OK_AND_ASSIGN(const Tensor found, Lookup(Tensor::Scalar(decoded), AsScalar<tstring>("a")));
  ExpectTensorEqual(found, one_);
  tensors.pop_back();
  Variant odd(std::make_shared<EncodedVariant>(TensorMap::kTypeName, metadata, tensors));
  EXPECT_THAT(variants.Decode(&odd), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace weir
