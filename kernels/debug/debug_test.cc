// differential.py has more cases.
#include "core/files/file_system.h"
#include "kernels/op_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
using Code = absl::StatusCode;

class InspectionTest : public OpTest {
 protected:
  absl::StatusOr<Tensor> Summary(const Tensor& of, int64_t mode, int64_t id = 7) {
    return RunOp1("DebugNumericSummaryV2", {of},
                  Attrs().Set("tensor_debug_mode", mode).Set("tensor_id", id).Set("output_dtype", DT_DOUBLE));
  }
};

TEST_F(InspectionTest, SummariesFollowTheirMode) {
  constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  const Tensor values = AsTensor<float>({1.5f, -2.3f, kInf, 0, -kInf, kNan, 0, -kInf}, {2, 4});
  const std::vector<std::pair<int64_t, std::vector<double>>> expected = {
      {2, {7, 1}}, {3, {7, 8, 2, 1, 1}}, {4, {7, -1, 1, 2, 8, 2, 1, 1, 1, 2, 1}}, {5, {7, 1, 2, 8, 2, 4, 0, 0, 0, 0}}};
  for (const auto& [mode, summary] : expected) {
    ASSERT_OK_AND_ASSIGN(const Tensor found, Summary(values, mode));
    ExpectTensorEqual(found, AsTensor<double>(summary));
  }
  EXPECT_THAT(Summary(values, 6), StatusIs(Code::kUnimplemented, HasSubstr("Unimplemented tensor debug mode: 6")));
  EXPECT_THAT(Summary(values, 2, (int64_t{1} << 53) + 1), StatusIs(Code::kInvalidArgument, HasSubstr("2^53")));
}

TEST_F(InspectionTest, ConstantsComeFromFiles) {
  ASSERT_OK_AND_ASSIGN(FileSystem * files, device()->file_systems()->Find("mem://const"));
  ASSERT_THAT(WriteStringToFile(files, "mem://const", "abcd"), IsOk());
  const auto read = [this](DataType type, int64_t size) {
    return RunOp1("ImmutableConst", {},
                  Attrs()
                      .Set("dtype", type)
                      .Set("shape", PartialTensorShape(TensorShape({size})))
                      .Set("memory_region_name", std::string("mem://const")));
  };
  ASSERT_OK_AND_ASSIGN(const Tensor bytes, read(DT_UINT8, 2));
  ExpectTensorEqual(bytes, AsTensor<uint8_t>({'a', 'b'}));
  EXPECT_THAT(read(DT_UINT8, 5), StatusIs(Code::kInternal, HasSubstr("wrong length (4)")));
  EXPECT_THAT(read(DT_INT64, int64_t{1} << 62), StatusIs(Code::kInternal));
  EXPECT_THAT(read(DT_STRING, 1), StatusIs(Code::kUnimplemented));
}

}  // namespace
}  // namespace weir
