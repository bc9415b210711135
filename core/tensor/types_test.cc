#include "core/tensor/types.h"

#include <gtest/gtest.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/tensor/numeric_types.h"
#include "tensorflow/core/framework/types.pb.h"

namespace weir {
namespace {

TEST(TypesTest, NamesAndNumbersAreThoseOfTheProto) {
  int supported = 0;
  for (int i = 1; i < 64; ++i) {
    const DataType type = static_cast<DataType>(i);
    if (!IsValidDataType(type)) continue;
    ++supported;
    ASSERT_TRUE(tensorflow::DataType_IsValid(i)) << i;
    EXPECT_EQ(absl::AsciiStrToUpper(absl::StrCat("DT_", DataTypeName(type))),
              tensorflow::DataType_Name(static_cast<tensorflow::DataType>(i)));
    EXPECT_TRUE(tensorflow::DataType_IsValid(MakeRef(type)));
  }
  EXPECT_EQ(supported, 27);
}

TEST(TypesTest, NamesRoundTrip) {
  for (int i = 1; i < 64; ++i) {
    const DataType type = static_cast<DataType>(i);
    if (!IsValidDataType(type)) continue;
    EXPECT_EQ(ParseDataType(DataTypeName(type)), type);
    EXPECT_EQ(ParseDataType(DataTypeName(MakeRef(type))), MakeRef(type));
    EXPECT_EQ(ParseDataType(absl::StrCat("DT_", absl::AsciiStrToUpper(DataTypeName(type)))), type);
    EXPECT_GT(DataTypeSize(type), 0u);
  }
  EXPECT_EQ(ParseDataType("float32"), DT_FLOAT);
  EXPECT_EQ(ParseDataType("nonsense"), std::nullopt);
  EXPECT_EQ(ParseDataType(""), std::nullopt);
}

TEST(TypesTest, UnknownNumbersAreNoTypes) {
  for (int i : {-1, 0, 26, 31, 99, 100, 1 << 30}) {
    EXPECT_FALSE(IsValidDataType(static_cast<DataType>(i))) << i;
    EXPECT_FALSE(IsPlainType(static_cast<DataType>(i))) << i;
  }
  EXPECT_FALSE(IsValidDataType(MakeRef(DT_FLOAT)));
  EXPECT_TRUE(absl::StrContains(DataTypeName(static_cast<DataType>(77)), "unknown dtype enum (77)"));
}

TEST(TypesTest, SizesAreThoseOfTheElements) {
  EXPECT_EQ(DataTypeSize(DT_HALF), sizeof(half));
  EXPECT_EQ(DataTypeSize(DT_COMPLEX128), sizeof(complex128));
  EXPECT_EQ(DataTypeSize(DT_INT4), 1u);
  EXPECT_EQ(DataTypeSize(DT_STRING), sizeof(tstring));
  EXPECT_EQ(DataTypeSize(MakeRef(DT_DOUBLE)), 8u);
}

TEST(TypesTest, AReferenceFeedsAValueButNotTheOtherWay) {
  EXPECT_TRUE(TypesCompatible(DT_FLOAT, MakeRef(DT_FLOAT)));
  EXPECT_FALSE(TypesCompatible(MakeRef(DT_FLOAT), DT_FLOAT));
  EXPECT_FALSE(TypesCompatible(DT_FLOAT, DT_DOUBLE));
}

}  // namespace
}  // namespace weir
