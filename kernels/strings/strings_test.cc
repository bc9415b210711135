// differential.py compares these kernels with TensorFlow.
#include "kernels/op_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
using Code = absl::StatusCode;

Tensor S(std::vector<tstring> values) { return AsTensor<tstring>(std::move(values)); }
Tensor Text(tstring value) { return AsScalar<tstring>(std::move(value)); }

class TextTransformTest : public OpTest {};

TEST_F(TextTransformTest, WordsAreSplitAsPythonDoes) {
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> out,
                       RunOp("StringSplitV2", {S({" a b  c", ""}), Text("")}, Attrs().Set("maxsplit", int64_t{-1})));
  ExpectTensorEqual(out[1], S({"a", "b", "c"}));
  ExpectTensorEqual(out[2], AsTensor<int64_t>({2, 3}));
  ASSERT_OK_AND_ASSIGN(out, RunOp("StringSplitV2", {S({"a,,b"}), Text(",")}));
  ExpectTensorEqual(out[1], S({"a", "", "b"}));
}

TEST_F(TextTransformTest, NGramsArePadded) {
  const Attrs attrs = Attrs()
                          .Set("separator", "|")
                          .Set("ngram_widths", std::vector<int64_t>{2})
                          .Set("left_pad", "L")
                          .Set("right_pad", "R")
                          .Set("pad_width", int64_t{-1})
                          .Set("preserve_short_sequences", false);
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> out,
                       RunOp("StringNGrams", {S({"a", "b"}), AsTensor<int64_t>({0, 2})}, attrs));
  ExpectTensorEqual(out[0], S({"L|a", "a|b", "b|R"}));
  for (const std::vector<int64_t>& splits : {std::vector<int64_t>{1, 2}, {0, 3}, {0, 2, 1, 2}, {0, 1}}) {
    EXPECT_THAT(RunOp("StringNGrams", {S({"a", "b"}), AsTensor<int64_t>(splits)}, attrs),
                StatusIs(Code::kInvalidArgument));
  }
  Attrs wide = attrs;
  wide.Set("ngram_widths", std::vector<int64_t>{1000000000});
  EXPECT_THAT(RunOp("StringNGrams", {S({"a", "b"}), AsTensor<int64_t>({0, 2})}, wide),
              StatusIs(Code::kResourceExhausted));
}

TEST_F(TextTransformTest, PositionsCountFromEitherEnd) {
  ASSERT_OK_AND_ASSIGN(Tensor part, RunOp1("Substr", {S({"h\xc3\xa9llo"}), AsScalar<int32_t>(-4), AsScalar<int32_t>(2)},
                                           Attrs().Set("unit", "UTF8_CHAR")));
  ExpectTensorEqual(part, S({"\xc3\xa9l"}));
  for (int64_t pos : {int64_t{4}, int64_t{-4}, INT64_MAX, INT64_MIN}) {
    for (const char* unit : {"BYTE", "UTF8_CHAR"}) {
      EXPECT_THAT(RunOp1("Substr", {S({"abc"}), AsScalar(pos), AsScalar<int64_t>(1)}, Attrs().Set("unit", unit)),
                  StatusIs(Code::kInvalidArgument, HasSubstr("out of range for string")));
    }
  }
}

TEST_F(TextTransformTest, MalformedTextIsReplacedOrRefused) {
  const auto decode = [this](const char* how) {
    return RunOp("UnicodeDecode", {S({"a\xff", "\xe2\x82\xac"})},
                 Attrs().Set("input_encoding", "UTF-8").Set("errors", how));
  };
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> out, decode("replace"));
  ExpectTensorEqual(out[0], AsTensor<int64_t>({0, 2, 3}));
  ExpectTensorEqual(out[1], AsTensor<int32_t>({'a', 0xFFFD, 0x20AC}));
  EXPECT_THAT(decode("strict"), StatusIs(Code::kInvalidArgument, HasSubstr("Invalid formatting on input string")));
  EXPECT_THAT(RunOp("UnicodeDecode", {S({"a"})}, Attrs().Set("input_encoding", "no such")),
              StatusIs(Code::kInvalidArgument, HasSubstr("Could not create converter")));
}

TEST_F(TextTransformTest, ValuesAreWrittenIntoTheTemplate) {
  ASSERT_OK_AND_ASSIGN(const Tensor text, RunOp1("StringFormat", {AsTensor<float>({0.1f, 2}), S({"x\n"})},
                                                 Attrs().Set("template", "a {} {}").Set("placeholder", "{}")));
  ExpectTensorEqual(text, Text("a [0.1 2] [\"x\\n\"]"));
  ASSERT_OK_AND_ASSIGN(
      const Tensor nothing,
      RunOp1("StringFormat", {AsScalar<bool>(true), AsScalar<float>(1), AsTensor<bool>({true, false})},
             Attrs().Set("template", "<{}|{}|{}>").Set("placeholder", "{}").Set("summarize", int64_t{0})));
  ExpectTensorEqual(nothing, Text("<|...|>"));
}

TEST_F(TextTransformTest, CodePointsThatAreNoCharactersAreEncoded) {
  const auto encode = [this](const Tensor& splits) {
    return RunOp1("UnicodeEncode", {AsTensor<int32_t>({0xFFFE, 0xFDD0}), splits},
                  Attrs().Set("errors", std::string("strict")).Set("output_encoding", std::string("UTF-8")));
  };
  ASSERT_OK_AND_ASSIGN(const Tensor text, encode(AsTensor<int64_t>({0, 2})));
  ExpectTensorEqual(text, S({"\xef\xbf\xbe\xef\xb7\x90"}));
  EXPECT_THAT(encode(AsTensor<int64_t>({0, 2}, {1, 2})),
              StatusIs(Code::kInvalidArgument, HasSubstr("input_splits should be of rank 1")));
}

TEST_F(TextTransformTest, SegmentsAreChecked) {
  ASSERT_OK_AND_ASSIGN(
      const Tensor joined,
      RunOp1("UnsortedSegmentJoin", {S({"a", "b", "c"}), AsTensor<int32_t>({1, 0, 1}), AsScalar<int32_t>(3)},
             Attrs().Set("separator", "-")));
  ExpectTensorEqual(joined, S({"b", "a-c", ""}));
  // What is still empty takes no separator, as in TensorFlow.
  ASSERT_OK_AND_ASSIGN(
      const Tensor bare,
      RunOp1("UnsortedSegmentJoin", {S({"", "", "c", ""}), AsTensor<int32_t>({0, 0, 0, 0}), AsScalar<int32_t>(1)},
             Attrs().Set("separator", "-")));
  ExpectTensorEqual(bare, S({"c-"}));
  EXPECT_THAT(RunOp1("UnsortedSegmentJoin", {S({"a"}), AsTensor<int32_t>({3}), AsScalar<int32_t>(3)}),
              StatusIs(Code::kInvalidArgument, HasSubstr("segment_ids[0] = 3 is not in [0, 3)")));
}

}  // namespace
}  // namespace weir
