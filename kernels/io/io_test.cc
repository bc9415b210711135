#include <cstdlib>
#include <filesystem>

#include "core/files/file_system.h"
#include "kernels/op_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
using Code = absl::StatusCode;

Tensor S(std::vector<tstring> values) { return AsTensor<tstring>(std::move(values)); }
Tensor TextScalar(tstring value) { return AsScalar<tstring>(std::move(value)); }

// Nearly everything happens in memory.
class IoTest : public OpTest {
 protected:
  absl::StatusOr<std::vector<Tensor>> Restore(const std::string& prefix, std::vector<tstring> names,
                                              std::vector<tstring> slices, DataTypeVector dtypes) {
    return RunOp("RestoreV2", {TextScalar(prefix), S(names), S(slices)}, Attrs().Set("dtypes", dtypes));
  }
};

TEST_F(IoTest, WhatIsSavedIsRestored) {
  const Tensor a = AsTensor<float>({1, 2, 3, 4, 5, 6}, {3, 2}), b = S({"x", "yy"}), c = AsScalar<int64_t>(7);
  ASSERT_THAT(RunOp("SaveV2", {TextScalar("mem://ckpt/model"), S({"a", "b", "c"}), S({"", "", ""}), a, b, c}), IsOk());
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> out,
                       Restore("mem://ckpt/model", {"c", "a", "b", "a"}, {"", "", "", "3 2 1,2:-"},
                               {DT_INT64, DT_FLOAT, DT_STRING, DT_FLOAT}));
  ExpectTensorEqual(out[0], c);
  ExpectTensorEqual(out[1], a);
  ExpectTensorEqual(out[2], b);
  ExpectTensorEqual(out[3], AsTensor<float>({3, 4, 5, 6}, {2, 2}));
}

TEST_F(IoTest, ShardsAreMerged) {
  ASSERT_THAT(RunOp("SaveV2", {TextScalar("mem://t/part0"), S({"a"}), S({""}), AsTensor<float>({1})}), IsOk());
  ASSERT_THAT(RunOp("SaveV2", {TextScalar("mem://t/part1"), S({"b"}), S({""}), AsTensor<float>({2})}), IsOk());
  const std::vector<TestInput> inputs = {S({"mem://t/part0", "mem://t/part1", "mem://t/part2"}),
                                         TextScalar("mem://t/all")};
  EXPECT_THAT(RunOp("MergeV2Checkpoints", inputs), StatusIs(Code::kInvalidArgument, HasSubstr("mem://t/part2")));
  ASSERT_THAT(RunOp("MergeV2Checkpoints", inputs, Attrs().Set("allow_missing_files", true)), IsOk());
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> out, Restore("mem://t/all", {"a", "b"}, {"", ""}, {DT_FLOAT, DT_FLOAT}));
  ExpectTensorEqual(out[0], AsTensor<float>({1}));
  ExpectTensorEqual(out[1], AsTensor<float>({2}));
}

TEST_F(IoTest, CheckpointsOfTheFirstFormatAreRestoredToo) {
  ASSERT_THAT(RunOp("Save", {TextScalar("mem://first"), S({"a"}), AsTensor<float>({1, 2, 3})}), IsOk());
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> out,
                       Restore("mem://first", {"a", "a"}, {"", "3 1,1"}, {DT_FLOAT, DT_FLOAT}));
  ExpectTensorEqual(out[0], AsTensor<float>({1, 2, 3}));
  ExpectTensorEqual(out[1], AsTensor<float>({2}));
  EXPECT_THAT(Restore("mem://first", {"b"}, {""}, {DT_FLOAT}), StatusIs(Code::kNotFound));
}

TEST_F(IoTest, BadCheckpointsAreErrors) {
  const Tensor a = AsTensor<float>({1});
  EXPECT_THAT(Restore("mem://none", {"a"}, {""}, {DT_FLOAT}),
              StatusIs(Code::kNotFound, HasSubstr("Failed to find any matching files for mem://none")));
  ASSERT_THAT(RunOp("SaveV2", {TextScalar("mem://m"), S({"a"}), S({""}), a}), IsOk());
  EXPECT_THAT(Restore("mem://m", {"b"}, {""}, {DT_FLOAT}),
              StatusIs(Code::kNotFound, HasSubstr("Key b not found in checkpoint")));
  EXPECT_THAT(Restore("mem://m", {"a"}, {""}, {DT_INT32}), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(Restore("mem://m", {"a"}, {"1 5,9"}, {DT_FLOAT}), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(Restore("mem://m", {"a", "b"}, {""}, {DT_FLOAT}), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(RunOp("SaveV2", {S({"x", "y"}), S({"a"}), S({""}), a}),
              StatusIs(Code::kInvalidArgument, HasSubstr("should have a single element, got 2 instead.")));
  EXPECT_THAT(RunOp("SaveV2", {TextScalar("mem://x"), S({"a", "a"}), S({"", ""}), a, a}),
              StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(RunOp("SaveV2", {TextScalar("mem://x"), S({"a"}), S({"", ""}), a}), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(RunOp("SaveV2", {TextScalar("strange://x"), S({"a"}), S({""}), a}), StatusIs(Code::kUnimplemented));
}

TEST_F(IoTest, SavingMakesAFolderButNotTheOneAroundIt) {
  std::string folder = ::testing::TempDir() + "/weir_io_XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const auto save = [this](const std::string& prefix) {
    return RunOp("SaveV2", {TextScalar(prefix), S({"a"}), S({""}), AsTensor<float>({1})});
  };
  EXPECT_THAT(save(folder + "/new/model"), IsOk());
  EXPECT_THAT(save(folder + "/none/new/model"),
              StatusIs(Code::kNotFound, HasSubstr("none/new; No such file or directory")));
  std::filesystem::remove_all(folder);
}

TEST_F(IoTest, ACancelledStepDoesNotSave) {
  cancellation().StartCancel();
  EXPECT_THAT(RunOp("SaveV2", {TextScalar("mem://m"), S({"a"}), S({""}), AsTensor<float>({1})}),
              StatusIs(Code::kCancelled));
}

TEST_F(IoTest, NamesOfShards) {
  ASSERT_OK_AND_ASSIGN(Tensor one,
                       RunOp1("ShardedFilename", {TextScalar("m"), AsScalar<int32_t>(3), AsScalar<int32_t>(12)}));
  EXPECT_EQ(one.scalar<tstring>(), "m-00003-of-00012");
  ASSERT_OK_AND_ASSIGN(Tensor all, RunOp1("ShardedFilespec", {TextScalar("m"), AsScalar<int32_t>(12)}));
  EXPECT_EQ(all.scalar<tstring>(), "m-" + std::string(5, '?') + "-of-00012");
  EXPECT_THAT(RunOp("ShardedFilespec", {TextScalar("m"), AsTensor<int32_t>({1, 2})}), StatusIs(Code::kInvalidArgument));
}

TEST_F(IoTest, FilesAreWrittenReadAndFound) {
  ASSERT_THAT(RunOp("WriteFile", {TextScalar("mem://d/e/a.txt"), TextScalar("hello")}), IsOk());
  ASSERT_THAT(RunOp("WriteFile", {TextScalar("mem://d/e/b.txt"), TextScalar("")}), IsOk());
  ASSERT_OK_AND_ASSIGN(Tensor contents, RunOp1("ReadFile", {TextScalar("mem://d/e/a.txt")}));
  EXPECT_EQ(contents.scalar<tstring>(), "hello");
  EXPECT_THAT(RunOp("ReadFile", {TextScalar("mem://d/none")}), StatusIs(Code::kNotFound, HasSubstr("mem://d/none")));
  ASSERT_OK_AND_ASSIGN(Tensor found, RunOp1("MatchingFiles", {S({"mem://d/e/b*", "mem://d/e/a.*"})}));
  ExpectTensorEqual(found, S({"mem://d/e/a.txt", "mem://d/e/b.txt"}));
}

}  // namespace
}  // namespace weir
