#include <unistd.h>

#include <fstream>

#include "kernels/data/dataset_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

using DatasetSourceTest = DatasetPipelineTest;

TEST_F(DatasetSourceTest, CsvRecords) {
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
    EXPECT_THAT(RunOp("IteratorGetNext", {handle}, Types(types)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("Expect 2 fields")))
        << line;
  }
}

TEST_F(DatasetSourceTest, RowsOfQueries) {
  const DataTypeVector types = {DT_INT64, DT_STRING, DT_BOOL};
  const auto dataset = [&](const std::string& query, const std::string& driver = "sqlite") {
    const std::vector<TestInput> inputs = {AsScalar<tstring>(driver), AsScalar<tstring>(":memory:"),
                                           AsScalar<tstring>(query)};
    return RunOp1(
        "SqlDataset", inputs,
        Attrs().Set("output_types", types).Set("output_shapes", std::vector<PartialTensorShape>(3, TensorShape())));
  };
  const auto next = [&](const Tensor& handle) { return RunOp("IteratorGetNext", {handle}, Types(types)); };
  EXPECT_THAT(dataset("select 1", "mysql"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("database type, mysql, is not supported")));
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
  EXPECT_THAT(next(Iterate(one, Types(types))),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("number of columns in query (1)")));
  ASSERT_OK_AND_ASSIGN(const Tensor wrong, dataset("selec 1"));
  EXPECT_THAT(next(Iterate(wrong, Types(types))), StatusIs(absl::StatusCode::kUnknown, HasSubstr("syntax error")));
}

}  // namespace
}  // namespace weir
