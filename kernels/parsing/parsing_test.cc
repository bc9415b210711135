// differential.py compares these kernels with TensorFlow; what needs files is here.
#include "core/checkpoint/bundle_writer.h"
#include "core/files/file_system.h"
#include "kernels/op_testing.h"
#include "tensorflow/core/example/example.pb.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
using Code = absl::StatusCode;

Tensor Strings(std::vector<tstring> values) { return AsTensor<tstring>(std::move(values)); }
Tensor Text(tstring value) { return AsScalar<tstring>(std::move(value)); }
Tensor Longs(std::vector<int64_t> values) { return AsTensor<int64_t>(std::move(values)); }

class ParsingTest : public OpTest {
 protected:
  void Write(const std::string& path, const std::string& text) {
    ASSERT_OK_AND_ASSIGN(FileSystem * files, device()->file_systems()->Find(path));
    ASSERT_THAT(WriteStringToFile(files, path, text), IsOk());
  }
};

TEST_F(ParsingTest, NewWordsKeepTheirOldLines) {
  Write("mem://new", "a\nb\nc\nd\n");
  Write("mem://old", "d\nx\nb\n");
  const auto remap = [this](int64_t offset, int64_t count, int64_t old_size) {
    return RunOp("GenerateVocabRemapping", {Text("mem://new"), Text("mem://old")},
                 Attrs().Set("new_vocab_offset", offset).Set("num_new_vocab", count).Set("old_vocab_size", old_size));
  };
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> out, remap(1, 3, -1));
  ExpectTensorEqual(out[0], Longs({2, -1, 0}));
  ExpectTensorEqual(out[1], AsScalar<int32_t>(2));
  ASSERT_OK_AND_ASSIGN(out, remap(0, 4, 1));
  ExpectTensorEqual(out[0], Longs({-1, -1, -1, 0}));
  EXPECT_THAT(remap(2, 3, -1), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(remap(0, 1, 4), StatusIs(Code::kInvalidArgument));
}

TEST_F(ParsingTest, MatricesFollowTheirVocabularies) {
  ASSERT_OK_AND_ASSIGN(FileSystem * files, device()->file_systems()->Find("mem://ckpt"));
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<BundleWriter> writer, BundleWriter::Create(files, "mem://ckpt"));
  ASSERT_THAT(writer->Save("w", "", AsTensor<float>({1, 2, 3, 4, 5, 6}, {2, 3})), IsOk());
  ASSERT_THAT(writer->Finish(), IsOk());
  const auto load = [this](std::vector<int64_t> rows, std::vector<int64_t> columns, std::vector<float> initial) {
    return RunOp1("LoadAndRemapMatrix",
                  {Text("mem://ckpt"), Text("w"), Longs(std::move(rows)), Longs(std::move(columns)),
                   AsTensor<float>(std::move(initial))},
                  Attrs().Set("num_rows", int64_t{2}).Set("num_cols", int64_t{3}));
  };
  ASSERT_OK_AND_ASSIGN(Tensor matrix, load({1, -1}, {2, 0, -1}, {7, 8, 9, 10}));
  ExpectTensorEqual(matrix, AsTensor<float>({6, 4, 7, 8, 9, 10}, {2, 3}));
  ASSERT_OK_AND_ASSIGN(matrix, load({1, 0}, {}, {}));
  ExpectTensorEqual(matrix, AsTensor<float>({4, 5, 6, 1, 2, 3}, {2, 3}));
  EXPECT_THAT(load({1, 2}, {}, {}), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(load({1, -1}, {}, {1}), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(load({1, 0}, {}, {1}), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(load({1, 1}, {}, {}), StatusIs(Code::kUnimplemented));
  EXPECT_THAT(load({1}, {}, {}), StatusIs(Code::kInvalidArgument));
}

TEST_F(ParsingTest, FeaturesOfABatch) {
  tensorflow::Example first, second;
  for (float x : {1.f, 2.f}) (*first.mutable_features()->mutable_feature())["a"].mutable_float_list()->add_value(x);
  const Attrs attrs = Attrs()
                          .Set("Tdense", DataTypeVector{DT_FLOAT})
                          .Set("sparse_types", DataTypeVector{})
                          .Set("ragged_value_types", DataTypeVector{})
                          .Set("ragged_split_types", DataTypeVector{})
                          .Set("num_sparse", int64_t{0})
                          .Set("dense_shapes", std::vector<PartialTensorShape>{TensorShape({2})});
  const auto parse = [&](const Tensor& initial) {
    return RunOp1("ParseExampleV2",
                  {Strings({first.SerializeAsString(), second.SerializeAsString()}), Strings({}), Strings({}),
                   Strings({"a"}), Strings({}), initial},
                  attrs);
  };
  ASSERT_OK_AND_ASSIGN(const Tensor dense, parse(AsTensor<float>({8, 9})));
  ExpectTensorEqual(dense, AsTensor<float>({1, 2, 8, 9}, {2, 2}));
  EXPECT_THAT(
      parse(Tensor(DT_FLOAT, TensorShape({0}))),
      StatusIs(Code::kInvalidArgument,
               HasSubstr("Name: <unknown>, Feature: a (data type: float) is required but could not be found.")));
}

TEST_F(ParsingTest, FeaturesHaveAKeyAndAValue) {
  const Attrs attrs = Attrs()
                          .Set("Tdense", DataTypeVector{})
                          .Set("sparse_types", DataTypeVector{DT_INT64})
                          .Set("ragged_value_types", DataTypeVector{})
                          .Set("ragged_split_types", DataTypeVector{})
                          .Set("num_sparse", int64_t{1})
                          .Set("dense_shapes", std::vector<PartialTensorShape>{});
  const auto parse = [&](const std::string& feature) {
    const auto size = [](size_t n) { return std::string(1, static_cast<char>(n)); };
    const std::string features = "\n" + size(feature.size()) + feature;
    return RunOp("ParseExampleV2",
                 {Text("\n" + size(features.size()) + features), Strings({}), Strings({"a"}), Strings({}), Strings({})},
                 attrs);
  };
  const std::string key("\n\1a"), value("\x12\5\x1a\3\n\1\7");
  EXPECT_THAT(parse(key + value), IsOk());
  EXPECT_THAT(parse(value + key), IsOk());
  for (const std::string& feature : {std::string(), key, value, key + value + key, key + "\x18\1"}) {
    EXPECT_THAT(parse(feature), StatusIs(Code::kInvalidArgument, HasSubstr("Could not parse example input")));
  }
}

TEST_F(ParsingTest, WhatFollowsCompressedDataIsNotRead) {
  const tstring once("x\x9c\x4b\x4c\x02\0\x01\x26\0\xc4", 10);
  for (const tstring& tail : {tstring(), once, tstring("xyz")}) {
    ASSERT_OK_AND_ASSIGN(const Tensor out, RunOp1("DecodeCompressed", {Text(once + tail)},
                                                  Attrs().Set("compression_type", std::string("ZLIB"))));
    ExpectTensorEqual(out, Text("ab"));
  }
}

TEST_F(ParsingTest, CsvFieldsMayBeQuoted) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> out,
                       RunOp("DecodeCSV", {Strings({"1,\"a,\"\"b\"\"\"", ",c"}), AsTensor<int32_t>({7}), Text("")}));
  ExpectTensorEqual(out[0], AsTensor<int32_t>({1, 7}));
  ExpectTensorEqual(out[1], Strings({"a,\"b\"", "c"}));
}

TEST_F(ParsingTest, DistancesAreNormalised) {
  const Tensor hypothesis = AsTensor<int64_t>({0, 0, 0, 1}, {2, 2}),
               truth = AsTensor<int64_t>({0, 0, 0, 1, 1, 0}, {3, 2});
  ASSERT_OK_AND_ASSIGN(const Tensor distance, RunOp1("EditDistance", {hypothesis, Strings({"a", "b"}), Longs({2, 2}),
                                                                      truth, Strings({"a", "c", "d"}), Longs({2, 2})}));
  ExpectTensorEqual(distance, AsTensor<float>({0.5, 1}));
}

}  // namespace
}  // namespace weir
