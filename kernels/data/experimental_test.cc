#include <unistd.h>

#include <fstream>

#include "core/op_kernel_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/library.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr int64_t kHuge = int64_t{1} << 62;

class RareDatasetTest : public KernelTest {
 protected:
  void SetUp() override { Register(RegisterAllOps, RegisterAllKernels); }

  static Tensor Int(int64_t value) { return Tensor::Scalar<int64_t>(value); }
  static Attrs Types(DataTypeVector types = {DT_INT64}) {
    Attrs attrs;
    attrs.Set("output_shapes", std::vector<PartialTensorShape>(types.size()));
    attrs.Set("output_types", types);
    return attrs;
  }
  Tensor Range(int64_t stop) {
    absl::StatusOr<Tensor> range = RunOp1("RangeDataset", {Int(0), Int(stop), Int(1)}, Types());
    EXPECT_THAT(range.status(), IsOk());
    return *range;
  }
  Tensor Batches(int64_t stop, int64_t size) {
    absl::StatusOr<Tensor> batches = RunOp1("BatchDataset", {Range(stop), Int(size)}, Types());
    EXPECT_THAT(batches.status(), IsOk());
    return *batches;
  }
  Tensor Iterate(const Tensor& dataset, const Attrs& attrs) {
    absl::StatusOr<Tensor> handle = RunOp1("AnonymousIteratorV3", {}, attrs);
    EXPECT_THAT(handle.status(), IsOk());
    EXPECT_THAT(RunOp("MakeIterator", {dataset, *handle}).status(), IsOk());
    return *handle;
  }
  void ExpectElements(const absl::StatusOr<Tensor>& dataset, const std::vector<Tensor>& expected) {
    ASSERT_THAT(dataset.status(), IsOk());
    const Tensor handle = Iterate(*dataset, Types());
    for (const Tensor& value : expected) {
      ASSERT_OK_AND_ASSIGN(const Tensor next, RunOp1("IteratorGetNext", {handle}, Types()));
      ExpectTensorEqual(next, value);
    }
    EXPECT_THAT(RunOp("IteratorGetNext", {handle}, Types()), StatusIs(absl::StatusCode::kOutOfRange));
  }
};

TEST_F(RareDatasetTest, BatchesOfOtherSizes) {
  const Tensor sizes = AsTensor<int64_t>({2, 3}), keep = AsScalar<bool>(false), drop = AsScalar<bool>(true);
  const auto rebatch = [&](const Tensor& rest) {
    return RunOp1("RebatchDatasetV2", {Batches(6, 4), sizes, rest}, Types());
  };
  const Tensor first = AsTensor<int64_t>({0, 1}), second = AsTensor<int64_t>({2, 3, 4});
  ExpectElements(rebatch(keep), {first, second, AsTensor<int64_t>({5})});
  ExpectElements(rebatch(drop), {first, second});
  ExpectElements(RunOp1("RebatchDataset", {Batches(5, 4), Int(2)}, Types()),
                 {first, AsTensor<int64_t>({2, 3}), AsTensor<int64_t>({4}), AsTensor<int64_t>({})});
  ExpectElements(RunOp1("SlidingWindowDataset", {Range(5), Int(3), Int(2), Int(1)}, Types()),
                 {AsTensor<int64_t>({0, 1, 2}), AsTensor<int64_t>({2, 3, 4})});
  ExpectElements(RunOp1("AutoShardDataset", {Range(5), Int(2), Int(1)}, Types()), {Int(1), Int(3)});
  ExpectElements(RunOp1("ParallelBatchDataset", {Range(3), Int(2), Int(2), keep}, Types()),
                 {first, AsTensor<int64_t>({2})});
}

TEST_F(RareDatasetTest, BadArgumentsAreRefused) {
  const Tensor range = Range(3), keep = AsScalar<bool>(false);
  const auto fails = [&](const char* op, std::vector<TestInput> inputs, const char* phrase) {
    EXPECT_THAT(RunOp(op, std::move(inputs), Types()), StatusIs(kInvalid, HasSubstr(phrase))) << op;
  };
  fails("RebatchDatasetV2", {range, AsTensor<int64_t>({}), keep}, "must not be empty");
  fails("RebatchDatasetV2", {range, AsTensor<int64_t>({0, 0}), keep}, "greater than zero");
  fails("RebatchDatasetV2", {range, AsTensor<int64_t>({-1}), keep}, "non-negative");
  fails("RebatchDataset", {range, Int(0)}, "greater than zero");
  fails("SlidingWindowDataset", {range, Int(kHuge), Int(1), Int(kHuge)}, "too large");
  fails("AutoShardDataset", {range, Int(2), Int(2)}, "index should be");
  fails("DenseToSparseBatchDataset", {range, Int(0), AsTensor<int64_t>({-1})}, "greater than zero");
  fails("SleepDataset", {range, Int(-1)}, ">= 0");
  // Scalars have no rows; an endless request for memory is none.
  const Tensor handle =
      Iterate(*RunOp1("RebatchDatasetV2", {range, AsTensor<int64_t>({kHuge}), keep}, Types()), Types());
  EXPECT_THAT(RunOp("IteratorGetNext", {handle}, Types()), StatusIs(kInvalid, HasSubstr("scalars")));
}

TEST_F(RareDatasetTest, CsvRecords) {
  const std::string path = ::testing::TempDir() + "/weir_rare_test_" + std::to_string(getpid()) + ".csv";
  std::ofstream(path) << "a,b\n1,\"x\ny\"\n,z\n\n4\n";
  const DataTypeVector types = {DT_INT64, DT_STRING};
  ASSERT_OK_AND_ASSIGN(const Tensor dataset,
                       RunOp1("CSVDataset",
                              {AsTensor<tstring>({path}), AsScalar<tstring>(""), Int(4096), AsScalar<bool>(true),
                               AsScalar<tstring>(","), AsScalar<bool>(true), AsScalar<tstring>(""),
                               AsTensor<int64_t>({}), AsTensor<int64_t>({7}), AsTensor<tstring>({})},
                              Types(types)));
  const Tensor handle = Iterate(dataset, Types(types));
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> row, RunOp("IteratorGetNext", {handle}, Types(types)));
  ExpectTensorEqual(row[1], AsScalar<tstring>("x\ny"));
  ASSERT_OK_AND_ASSIGN(row, RunOp("IteratorGetNext", {handle}, Types(types)));
  ExpectTensorEqual(row[0], Int(7));
  for (const char* line : {"empty", "short"}) {
    EXPECT_THAT(RunOp("IteratorGetNext", {handle}, Types(types)), StatusIs(kInvalid, HasSubstr("Expect 2 fields")))
        << line;
  }
}

TEST_F(RareDatasetTest, RowsOfQueries) {
  const DataTypeVector types = {DT_INT64, DT_STRING, DT_BOOL};
  const auto dataset = [&](const std::string& query, const std::string& driver = "sqlite") {
    const std::vector<TestInput> inputs = {AsScalar<tstring>(driver), AsScalar<tstring>(":memory:"),
                                           AsScalar<tstring>(query)};
    return RunOp1(
        "SqlDataset", inputs,
        Attrs().Set("output_types", types).Set("output_shapes", std::vector<PartialTensorShape>(3, TensorShape())));
  };
  const auto next = [&](const Tensor& handle) { return RunOp("IteratorGetNext", {handle}, Types(types)); };
  EXPECT_THAT(dataset("select 1", "mysql"), StatusIs(kInvalid, HasSubstr("database type, mysql, is not supported")));
  ASSERT_OK_AND_ASSIGN(const Tensor rows, dataset("values (3, 'a', 2), (null, null, 0)"));
  const Tensor handle = Iterate(rows, Types(types));
  absl::StatusOr<std::vector<Tensor>> row = next(handle);
  if (absl::IsUnimplemented(row.status())) GTEST_SKIP() << row.status();
  ASSERT_THAT(row, IsOk());
  ExpectTensorEqual((*row)[0], Int(3));
  ExpectTensorEqual((*row)[1], AsScalar<tstring>("a"));
  ExpectTensorEqual((*row)[2], AsScalar<bool>(true));
  ASSERT_OK_AND_ASSIGN(*row, next(handle));
  ExpectTensorEqual((*row)[0], Int(0));
  ExpectTensorEqual((*row)[1], AsScalar<tstring>(""));
  EXPECT_THAT(next(handle), StatusIs(absl::StatusCode::kOutOfRange));
  ASSERT_OK_AND_ASSIGN(const Tensor one, dataset("select 1"));
  EXPECT_THAT(next(Iterate(one, Types(types))), StatusIs(kInvalid, HasSubstr("number of columns in query (1)")));
  ASSERT_OK_AND_ASSIGN(const Tensor wrong, dataset("selec 1"));
  EXPECT_THAT(next(Iterate(wrong, Types(types))), StatusIs(absl::StatusCode::kUnknown, HasSubstr("syntax error")));
}

TEST_F(RareDatasetTest, ShardsGetTheirElements) {
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
  EXPECT_THAT(next(7, number), StatusIs(kInvalid));
  EXPECT_THAT(next(0, number + 1), StatusIs(kInvalid, HasSubstr("Invalid incarnation id")));
}

}  // namespace
}  // namespace weir
