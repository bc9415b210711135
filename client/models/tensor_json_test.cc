#include "client/models/tensor_json.h"

#include "core/tensor/numeric_types.h"
#include "core/testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

TEST(TensorJsonTest, ReadsNestedLists) {
  ASSERT_OK_AND_ASSIGN(const Tensor matrix, TensorFromJson("[[1, 2.5], [-3, \"NaN\"]]", DT_FLOAT));
  ExpectTensorEqual(matrix, AsTensor<float>({1, 2.5, -3, NAN}, {2, 2}));
  ASSERT_OK_AND_ASSIGN(const Tensor scalar, TensorFromJson("true", DT_BOOL));
  ExpectTensorEqual(scalar, AsScalar<bool>(true));
  ASSERT_OK_AND_ASSIGN(const Tensor texts, TensorFromJson(R"(["a", {"b64": "/w=="}])", DT_STRING));
  ExpectTensorEqual(texts, AsTensor<tstring>({"a", "\xff"}));
  ASSERT_OK_AND_ASSIGN(const Tensor empty, TensorFromJson("[[], []]", DT_INT64));
  EXPECT_EQ(empty.shape(), TensorShape({2, 0}));
}

TEST(TensorJsonTest, RejectsWhatDoesNotFit) {
  const auto invalid = [](const char* text) { return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text)); };
  EXPECT_THAT(TensorFromJson("[[1, 2], [3]]", DT_FLOAT), invalid("[3] stands where other lists have 2 elements"));
  EXPECT_THAT(TensorFromJson("[300]", DT_UINT8), invalid("300 is not a value of type uint8"));
  EXPECT_THAT(TensorFromJson("[-1]", DT_UINT64), invalid("-1 is not a value of type uint64"));
  EXPECT_THAT(TensorFromJson("[1.5]", DT_INT32), invalid("1.5 is not a value of type int32"));
  EXPECT_THAT(TensorFromJson("[\"1\"]", DT_FLOAT), invalid("is not a value of type float"));
  EXPECT_THAT(TensorFromJson("[1", DT_FLOAT), invalid("not JSON"));
  EXPECT_THAT(TensorFromJson(std::string(100000, '['), DT_FLOAT), invalid("not JSON"));
  EXPECT_THAT(TensorFromJson("1", DT_RESOURCE), StatusIs(absl::StatusCode::kUnimplemented));
}

TEST(TensorJsonTest, WritesWhatItReads) {
  const auto text = [](const Tensor& tensor) { return TensorToJson(tensor).value_or("error"); };
  EXPECT_EQ(text(AsTensor<float>({0.1f, 1, 1e30f, -INFINITY}, {2, 2})), "[[0.1, 1.0], [1e+30, \"-Infinity\"]]");
  EXPECT_EQ(text(AsTensor<int8_t>({-1, 2})), "[-1, 2]");
  EXPECT_EQ(text(AsScalar<tstring>("a\"b")), "\"a\\\"b\"");
  EXPECT_EQ(text(AsScalar<tstring>("\xff")), "{\"b64\": \"/w==\"}");
  EXPECT_EQ(text(AsScalar<half>(half(0.5f))), "0.5");
  EXPECT_EQ(text(Tensor(DT_FLOAT, TensorShape({1, 0}))), "[[]]");
  EXPECT_THAT(TensorToJson(AsScalar<complex64>(1)), StatusIs(absl::StatusCode::kUnimplemented));
}

}  // namespace
}  // namespace weir
