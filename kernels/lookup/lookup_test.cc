// Hash tables and strings.
#include <fstream>
#include <limits>

#include "core/files/scratch_directory_testing.h"
#include "core/tensor/numeric_types.h"
#include "kernels/op_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
using Code = absl::StatusCode;

Tensor S(std::vector<tstring> values) { return AsTensor<tstring>(std::move(values)); }
Tensor L(std::vector<int64_t> values) { return AsTensor<int64_t>(std::move(values)); }

class LookupTest : public OpTest {
 protected:
  Tensor Table(const std::string& op, DataType key, DataType value, Attrs attrs = {}) {
    absl::StatusOr<Tensor> table =
        RunOp1(op, {}, attrs.Set("key_dtype", key).Set("value_dtype", value).Set("shared_name", op));
    EXPECT_THAT(table, IsOk());
    return *table;
  }
  absl::StatusOr<Tensor> Find(const Tensor& table, const Tensor& keys, const Tensor& otherwise) {
    return RunOp1("LookupTableFindV2", {table, keys, otherwise});
  }
  absl::Status Insert(const Tensor& table, const Tensor& keys, const Tensor& values) {
    return RunOp("LookupTableInsertV2", {table, keys, values}).status();
  }
  int64_t Size(const Tensor& table) { return RunOp1("LookupTableSizeV2", {table})->scalar<int64_t>(); }
};

TEST_F(LookupTest, ATableIsFilledOnce) {
  const Tensor table = Table("HashTableV2", DT_STRING, DT_INT64);
  EXPECT_THAT(Find(table, S({"a"}), AsScalar<int64_t>(-1)),
              StatusIs(Code::kFailedPrecondition, HasSubstr("Table not initialized.")));
  ASSERT_THAT(RunOp("InitializeTableV2", {table, S({"a", "b"}), L({1, 2})}), IsOk());
  ASSERT_OK_AND_ASSIGN(Tensor found, Find(table, S({"b", "z"}), AsScalar<int64_t>(-1)));
  ExpectTensorEqual(found, L({2, -1}));
  EXPECT_EQ(Size(table), 2);
  EXPECT_THAT(RunOp("InitializeTableV2", {table, S({"a", "b"}), L({1, 2})}), IsOk());
  EXPECT_THAT(RunOp("InitializeTableV2", {table, S({"c"}), L({1})}), StatusIs(Code::kFailedPrecondition));
  EXPECT_THAT(RunOp("InitializeTableV2", {table, S({"a"}), L({9})}),
              StatusIs(Code::kFailedPrecondition, HasSubstr("already initialized with different data")));
  EXPECT_THAT(Insert(table, S({"a"}), L({1})), StatusIs(Code::kUnimplemented));
}

TEST_F(LookupTest, ATableThatWasNotFilledIsEmptyAndGivesNothing) {
  const Tensor table = Table("HashTableV2", DT_STRING, DT_INT64);
  EXPECT_THAT(RunOp("InitializeTableV2", {table, S({"a", "a"}), L({1, 2})}),
              StatusIs(Code::kFailedPrecondition, HasSubstr("HashTable has different value for same key")));
  EXPECT_EQ(Size(table), 0);
  EXPECT_THAT(RunOp("LookupTableExportV2", {table}, Attrs().Set("Tkeys", DT_STRING).Set("Tvalues", DT_INT64)),
              StatusIs(Code::kAborted, HasSubstr("HashTable is not initialized.")));
}

TEST_F(LookupTest, FilesWithEmptyLinesOrNoneFillNoTable) {
  const ScratchDirectory directory;
  const std::string path = directory.Path("lines_of_a_table");
  const Tensor table = Table("HashTableV2", DT_STRING, DT_INT64);
  const auto fill = [&](absl::string_view content, int64_t size) {
    std::ofstream(path) << content;
    return RunOp("InitializeTableFromTextFileV2", {table, AsScalar<tstring>(path)},
                 Attrs().Set("key_index", int64_t{-2}).Set("value_index", int64_t{-1}).Set("vocab_size", size))
        .status();
  };
  EXPECT_THAT(fill("", -1), StatusIs(Code::kOutOfRange, HasSubstr("Read less bytes than requested")));
  EXPECT_THAT(fill("", 1), StatusIs(Code::kInvalidArgument, HasSubstr("expected 1 but got 0")));
  EXPECT_THAT(fill("a\n\nb\n", -1), StatusIs(Code::kInvalidArgument, HasSubstr("empty line found at position 3.")));
  EXPECT_THAT(fill("a\n\nb\n", 1), IsOk());
}

TEST_F(LookupTest, AMutableTableGrowsAndShrinks) {
  const Tensor table = Table("MutableHashTableV2", DT_STRING, DT_INT64);
  ASSERT_THAT(Insert(table, S({"a", "b", "a"}), L({1, 2, 3})), IsOk());
  ASSERT_THAT(RunOp("LookupTableRemoveV2", {table, S({"b", "q"})}), IsOk());
  ASSERT_OK_AND_ASSIGN(Tensor found, Find(table, S({"a", "b"}), L({-1, -2})));
  ExpectTensorEqual(found, L({3, -2}));
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> all,
                       RunOp("LookupTableExportV2", {table}, Attrs().Set("Tkeys", DT_STRING).Set("Tvalues", DT_INT64)));
  ExpectTensorEqual(all[0], S({"a"}));
  ExpectTensorEqual(all[1], L({3}));
  ASSERT_THAT(RunOp("LookupTableImportV2", {table, S({"x"}), L({7})}), IsOk());
  EXPECT_EQ(Size(table), 1);
}

TEST_F(LookupTest, ManyKeysKeepTheirRows) {
  const Tensor table =
      Table("MutableHashTableOfTensorsV2", DT_INT64, DT_FLOAT, Attrs().Set("value_shape", TensorShape({2})));
  for (int64_t i = 0; i < 100; ++i) {
    ASSERT_THAT(Insert(table, L({i}), AsTensor<float>({float(i), float(-i)}, {1, 2})), IsOk());
  }
  ASSERT_OK_AND_ASSIGN(Tensor found, Find(table, AsTensor<int64_t>({99, 500, 3}, {3, 1}), AsTensor<float>({9, 9})));
  ExpectTensorEqual(found, AsTensor<float>({99, -99, 9, 9, 3, -3}, {3, 1, 2}));
}

TEST_F(LookupTest, BadTableInputsAreErrors) {
  const Tensor table = Table("MutableHashTableV2", DT_STRING, DT_INT64);
  const Tensor rows =
      Table("MutableHashTableOfTensorsV2", DT_INT64, DT_FLOAT, Attrs().Set("value_shape", TensorShape({2})));
  const auto error = [](const absl::Status& status, const std::string& message) {
    EXPECT_THAT(status, StatusIs(Code::kInvalidArgument, HasSubstr(message)));
  };
  error(Find(table, L({1}), AsScalar<int64_t>(1)).status(),
        "Signature mismatch, have: resource, int64, int64->int64 expected: resource, string, int64->int64");
  error(Find(table, S({"a"}), AsScalar<float>(1)).status(), "Signature mismatch");
  error(Find(table, S({"a"}), L({1, 2})).status(), "Expected shape [] or [1] for default value, got [2]");
  error(Insert(table, S({"a"}), L({1, 2})), "Expected shape [1] for value, got [2]");
  error(Insert(rows, L({5}), AsTensor<float>({1, 2, 3}, {1, 3})), "Expected shape [1,2] for value, got [1,3]");
  error(RunOp("LookupTableImportV2", {table, S({"a"}), L({1, 2})}).status(), "Expected shape [1] for value, got [2]");
  error(RunOp("MutableHashTableV2", {},
              Attrs().Set("key_dtype", DT_INT64).Set("value_dtype", DT_INT64).Set("shared_name", "MutableHashTableV2"))
            .status(),
        "Conflicting key/value dtypes");
}

TEST_F(LookupTest, AnonymousTablesAreNewEachTime) {
  const Attrs attrs = Attrs().Set("key_dtype", DT_INT64).Set("value_dtype", DT_INT64);
  ASSERT_OK_AND_ASSIGN(auto kernel, MakeOp("AnonymousMutableHashTable", {}, attrs));
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> first, RunKernel(*kernel, {}));
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> second, RunKernel(*kernel, {}));
  ASSERT_THAT(Insert(first[0], L({1}), L({2})), IsOk());
  EXPECT_EQ(Size(first[0]), 1);
  EXPECT_EQ(Size(second[0]), 0);
}

TEST_F(LookupTest, StringsAgreeWithTensorFlow) {
  const auto with = [](const char* name, auto value) { return Attrs().Set(name, value); };
  const struct {
    std::string op;
    std::vector<TestInput> inputs;
    Tensor expected;
    Attrs attrs;
  } cases[] = {
      {"StringJoin", {S({"a", "b"}), AsScalar<tstring>("x")}, S({"a-x", "b-x"}), with("separator", "-")},
      {"AsString",
       {AsTensor<float>({1.5f, -2, std::numeric_limits<float>::quiet_NaN(), 1e20f})},
       S({"1.500000", "-2.000000", "nan", "100000002004087734272.000000"}),
       {}},
      {"AsString", {AsTensor<float>({1.5f})}, S({"1.50"}), with("precision", 2)},
      {"AsString", {AsTensor<float>({1.5f})}, S({"1.500000e+00"}), with("scientific", true)},
      {"AsString", {AsTensor<float>({1.5e10f})}, S({"1.5e+10"}), with("shortest", true)},
      {"AsString", {AsTensor<int32_t>({7})}, S({"007"}), Attrs().Set("width", 3).Set("fill", "0")},
      {"AsString", {AsTensor<bool>({true})}, S({"true"}), {}},
      {"AsString", {S({"ab", "abcd"})}, S({" ab", "abcd"}), Attrs().Set("width", 3)},
      {"AsString", {S({"ab"})}, S({"ab "}), Attrs().Set("width", 3).Set("fill", "-")},
      {"AsString", {S({"a"})}, S({"  a"}), Attrs().Set("width", 3).Set("precision", 2).Set("scientific", true)},
      {"AsString", {AsTensor<uint8_t>({200})}, S({"200"}), {}},
      {"AsString", {AsTensor<complex64>({{1, 2}})}, S({"(1.000000,2.000000)"}), {}},
      {"AsString", {AsTensor<half>({half(1.1f)})}, S({"1.099609"}), {}},
      {"StringToNumber",
       {S({"1.5", " -2 ", "inf"})},
       AsTensor<float>({1.5f, -2, std::numeric_limits<float>::infinity()}),
       {}},
      {"StringToNumber", {S({"12", " -3 "})}, AsTensor<int32_t>({12, -3}), with("out_type", DT_INT32)},
      {"StringLength", {S({"abc", "\xc3\xa9"})}, AsTensor<int32_t>({3, 2}), {}},
      {"StringLength", {S({"abc", "\xc3\xa9"})}, AsTensor<int32_t>({3, 1}), with("unit", "UTF8_CHAR")},
      {"StringLower", {S({"AbC"})}, S({"abc"}), {}},
      {"StringUpper", {S({"AbC"})}, S({"ABC"}), {}},
      {"StringStrip", {S({" a b\t\n"})}, S({"a b"}), {}},
      {"DecodeRaw",
       {S({"abcd", "efgh"})},
       AsTensor<uint16_t>({25185, 25699, 26213, 26727}, {2, 2}),
       with("out_type", DT_UINT16)},
      {"DecodeRaw",
       {S({"ab"})},
       AsTensor<uint16_t>({24930}, {1, 1}),
       Attrs().Set("out_type", DT_UINT16).Set("little_endian", false)},
      {"EncodeBase64", {S({"a", "ab", "abc?>"})}, S({"YQ", "YWI", "YWJjPz4"}), {}},
      {"EncodeBase64", {S({"a"})}, S({"YQ=="}), with("pad", true)},
      {"DecodeBase64", {S({"YQ", "YQ==", "YWJjPz4"})}, S({"a", "a", "abc?>"}), {}},
  };
  for (const auto& c : cases) {
    ASSERT_OK_AND_ASSIGN(Tensor out, RunOp1(c.op, c.inputs, c.attrs));
    ExpectTensorEqual(out, c.expected, c.op);
  }
}

TEST_F(LookupTest, BadStringsAreErrors) {
  const struct {
    std::string op;
    std::vector<TestInput> inputs;
    std::string message;
    Attrs attrs;
  } cases[] = {
      {"StringJoin", {S({"a", "b"}), S({"a", "b", "c"})}, "Input shapes do not match: [2] vs. [3]", {}},
      {"StringToNumber", {S({"abc"})}, "StringToNumberOp could not correctly convert string: abc", {}},
      {"StringToNumber", {S({"99999999999"})}, "could not correctly convert", Attrs().Set("out_type", DT_INT32)},
      {"AsString", {AsTensor<int32_t>({1})}, "precision not supported for datatype int32", Attrs().Set("precision", 2)},
      {"AsString",
       {AsTensor<int32_t>({1})},
       "scientific and shortest format not supported for datatype int32",
       Attrs().Set("scientific", true).Set("shortest", true).Set("precision", 2)},
      {"AsString",
       {AsTensor<float>({1})},
       "Cannot select both scientific and shortest notation",
       Attrs().Set("scientific", true).Set("shortest", true)},
      {"AsString", {AsTensor<float>({1})}, "Fill string must be one or fewer characters", Attrs().Set("fill", "ab")},
      {"AsString", {AsTensor<float>({1})}, "Fill argument not supported", Attrs().Set("fill", "%")},
      {"AsString", {AsTensor<float>({1})}, "below", Attrs().Set("width", 1 << 30)},
      {"DecodeRaw",
       {S({"abcd", "e"})},
       "DecodeRaw requires input strings to all be the same size, but element 1 has size 4 != 1",
       Attrs().Set("out_type", DT_UINT16)},
      {"DecodeRaw",
       {S({"abc"})},
       "Input to DecodeRaw has length 3 that is not a multiple of 2, the size of uint16",
       Attrs().Set("out_type", DT_UINT16)},
      {"DecodeBase64", {S({"Y!Q"})}, "Invalid character found in base64.", {}},
      {"DecodeBase64", {S({"Y"})}, "cannot be 1 modulo 4", {}},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(RunOp(c.op, c.inputs, c.attrs), StatusIs(Code::kInvalidArgument, HasSubstr(c.message))) << c.op;
  }
}

}  // namespace
}  // namespace weir
