// Ops on a task's checkpoint store.
#include <cstring>

#include "core/checkpoint/manifest.h"
#include "core/files/scratch_directory_testing.h"
#include "core/files/store_file_system.h"
#include "kernels/op_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
using Code = absl::StatusCode;

Tensor Path(const std::string& text) { return AsScalar<tstring>(text); }
Tensor Bytes(const std::string& text) {
  Tensor bytes(DT_UINT8, TensorShape({static_cast<int64_t>(text.size())}));
  if (!text.empty()) std::memcpy(bytes.raw_data(), text.data(), text.size());
  return bytes;
}

class StoreTest : public OpTest {
 protected:
  void SetUp() override {
    OpTest::SetUp();
    const std::shared_ptr<FileSystemRegistry> files = FileSystemRegistry::Default();
    ASSERT_OK_AND_ASSIGN(std::shared_ptr<FileSystem> store, NewStoreFileSystem(directory_.path()));
    ASSERT_THAT(files->Register(kStoreScheme, std::move(store)), IsOk());
    device()->set_file_systems(files);
  }
  absl::Status Write(const std::string& path, int64_t offset, const std::string& text, bool sync = false) {
    return RunOp("StoreWriteRange", {Path(path), AsScalar<int64_t>(offset), Bytes(text), AsScalar<bool>(sync)})
        .status();
  }
  absl::StatusOr<Tensor> Read(const std::string& path, int64_t offset, int64_t size) {
    return RunOp1("StoreReadRange", {Path(path), AsScalar<int64_t>(offset), AsScalar<int64_t>(size)});
  }
  absl::Status Verify(const std::string& prefix, const Tensor& manifest, bool thorough) {
    return RunOp("StoreVerify", {Path(prefix), manifest, AsScalar<bool>(thorough)}).status();
  }

  const ScratchDirectory directory_;
};

TEST_F(StoreTest, FilesAreWrittenAndReadInPieces) {
  ASSERT_THAT(Write("store://m/1/file", 0, "abc"), IsOk());
  ASSERT_THAT(Write("store://m/1/file", 3, "defg", true), IsOk());
  ASSERT_OK_AND_ASSIGN(const Tensor read, Read("store://m/1/file", 2, 4));
  ExpectTensorEqual(read, Bytes("cdef"));
  ASSERT_OK_AND_ASSIGN(const Tensor none, Read("store://m/1/file", 7, 0));
  EXPECT_EQ(none.NumElements(), 0);
  EXPECT_THAT(Read("store://m/1/file", 2, 6), StatusIs(Code::kDataLoss, HasSubstr("7 bytes")));
  EXPECT_THAT(Read("store://m/1/file", 1, int64_t{1} << 62), StatusIs(Code::kDataLoss));
  EXPECT_THAT(Read("store://m/1/file", -1, 2), StatusIs(Code::kInvalidArgument, HasSubstr("offset")));
  EXPECT_THAT(Read("store://m/1/none", 0, 1), StatusIs(Code::kNotFound));
  EXPECT_THAT(Write("store://m/1/file", 3, "x"), StatusIs(Code::kDataLoss, HasSubstr("has 7")));
  EXPECT_THAT(Write("store://m/1/none", 3, "x"), StatusIs(Code::kDataLoss, HasSubstr("none")));
  ASSERT_THAT(Write("store://m/1/file", 0, "z"), IsOk());
  ASSERT_OK_AND_ASSIGN(const Tensor again, Read("store://m/1/file", 0, 1));
  ExpectTensorEqual(again, Bytes("z"));
}

TEST_F(StoreTest, OnlyPathsInTheStoreAreAccepted) {
  EXPECT_THAT(Write(directory_.Path("x"), 0, "abc"), StatusIs(Code::kInvalidArgument, HasSubstr("store://")));
  EXPECT_THAT(Write("store://../x", 0, "abc"), StatusIs(Code::kInvalidArgument, HasSubstr("leaves")));
  EXPECT_THAT(RunOp("StoreDelete", {Path("store://")}), StatusIs(Code::kInvalidArgument));
  device()->set_file_systems(FileSystemRegistry::Default());
  EXPECT_THAT(Write("store://m/x", 0, "abc"), StatusIs(Code::kFailedPrecondition, HasSubstr("--checkpoint-store")));
}

TEST_F(StoreTest, DeletedPathsMayBeAbsent) {
  ASSERT_THAT(Write("store://m/1/file", 0, "abc"), IsOk());
  for (int i = 0; i < 2; ++i) EXPECT_THAT(RunOp("StoreDelete", {Path("store://m/1")}), IsOk());
  EXPECT_THAT(Read("store://m/1/file", 0, 1), StatusIs(Code::kNotFound));
}

TEST_F(StoreTest, ACheckpointIsDescribedAndVerified) {
  const std::string prefix = "store://m/1/shard";
  ASSERT_THAT(RunOp("SaveV2", {Path(prefix), AsTensor<tstring>({"a", "b"}), AsTensor<tstring>({"", "4 2,1"}),
                               AsTensor<float>({1, 2, 3}), AsTensor<float>({4})}),
              IsOk());
  ASSERT_OK_AND_ASSIGN(const Tensor manifest, RunOp1("StoreDescribe", {Path(prefix)}));
  EXPECT_THAT(std::string(manifest.scalar<tstring>()),
              ::testing::AllOf(HasSubstr("name: \"shard.index\""), HasSubstr("tensor: \"a\"\ntensor: \"b\"\n")));
  EXPECT_THAT(Verify(prefix, manifest, true), IsOk());
  EXPECT_THAT(Verify("store://m/2/shard", manifest, false), StatusIs(Code::kDataLoss, HasSubstr("does not exist")));
  EXPECT_THAT(Verify(prefix, Path("file { x"), false), StatusIs(Code::kDataLoss));

  ASSERT_OK_AND_ASSIGN(const Tensor data, Read("store://m/1/shard.data-00000-of-00001", 0, 16));
  std::string bytes(static_cast<const char*>(data.raw_data()), 16);
  bytes[5] ^= 1;
  ASSERT_THAT(Write("store://m/1/shard.data-00000-of-00001", 0, bytes), IsOk());
  EXPECT_THAT(Verify(prefix, manifest, false), IsOk());
  EXPECT_THAT(Verify(prefix, manifest, true), StatusIs(Code::kDataLoss, HasSubstr("checksum")));
}

TEST_F(StoreTest, ContentsOfAModelAreListed) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> none, RunOp("StoreContents", {Path("store://m")}));
  EXPECT_EQ(none[1].NumElements(), 0);
  ASSERT_THAT(Write("store://m/1-a-5/shard-00000-of-00001.manifest", 0, "generation: 1"), IsOk());
  ASSERT_THAT(Write("store://m/checkpoint.lease", 0, "token: 3"), IsOk());
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> some, RunOp("StoreContents", {Path("store://m")}));
  ExpectTensorEqual(some[0], Path("token: 3"));
  ExpectTensorEqual(some[1], AsTensor<tstring>({"1-a-5"}));
  ExpectTensorEqual(some[2], AsTensor<tstring>({"1-a-5/shard-00000-of-00001.manifest"}));
  ExpectTensorEqual(some[3], AsTensor<tstring>({"generation: 1"}));
}

}  // namespace
}  // namespace weir
