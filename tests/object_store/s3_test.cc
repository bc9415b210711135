// The S3 file system against moto.

#include "core/checkpoint/bundle_reader.h"
#include "core/checkpoint/bundle_writer.h"
#include "core/checkpoint/checkpoint_state.h"
#include "core/files/file_system_conformance_testing.h"
#include "core/files/remote/remote_file_systems.h"
#include "core/testing.h"

namespace weir {
namespace {

using ::testing::ElementsAre;

constexpr uint64_t kMiB = 1 << 20;

FileSystemWorld S3World() { return {nullptr, NewS3FileSystem(), "s3://weir/conformance"}; }

INSTANTIATE_TEST_SUITE_P(S3, FileSystemConformance, testing::Values(&S3World));

// With the smallest parts that S3 accepts.
std::unique_ptr<FileSystem> FilesInParts() {
  S3FileOptions options;
  options.settings = [] { return LoadS3Settings(); };
  options.part_bytes = 5 * kMiB;
  options.max_copy_bytes = 5 * kMiB;
  return NewS3FileSystem(std::move(options));
}

TEST(S3Test, LargeFilesAreWrittenAppendedToAndRenamedInParts) {
  const auto files = FilesInParts();
  std::string content;
  for (int i = 0; content.size() < 11 * kMiB; ++i) absl::StrAppend(&content, i, "\n");
  ASSERT_OK_AND_ASSIGN(auto file, files->NewWritableFile("s3://weir/large/a"));
  ASSERT_THAT(file->Append(content), IsOk());
  EXPECT_FALSE(files->Exists("s3://weir/large/a"));
  ASSERT_THAT(file->Close(), IsOk());
  ASSERT_OK_AND_ASSIGN(file, files->NewAppendableFile("s3://weir/large/a"));
  ASSERT_THAT(file->Append(content), IsOk());
  ASSERT_THAT(file->Close(), IsOk());
  ASSERT_THAT(files->Rename("s3://weir/large/a", "s3://weir/large/b"), IsOk());
  ASSERT_OK_AND_ASSIGN(const std::string read, ReadFileToString(files.get(), "s3://weir/large/b"));
  EXPECT_TRUE(read == content + content) << read.size();
  EXPECT_THAT(*files->List("s3://weir/large"), ElementsAre("b"));
  EXPECT_THAT(files->DeleteRecursively("s3://weir/large"), IsOk());
}

TEST(S3Test, AnUploadInPartsThatIsNotClosedLeavesNothing) {
  const auto files = FilesInParts();
  {
    ASSERT_OK_AND_ASSIGN(const auto file, files->NewWritableFile("s3://weir/left/a"));
    ASSERT_THAT(file->Append(std::string(6 * kMiB, 'x')), IsOk());
  }
  EXPECT_FALSE(files->Exists("s3://weir/left"));
}

TEST(S3Test, WrongCredentialsAreNamed) {
  S3FileOptions options;
  options.settings = []() -> absl::StatusOr<S3Settings> {
    ASSIGN_OR_RETURN(S3Settings settings, LoadS3Settings());
    settings.credentials.secret_key = "wrong";
    return settings;
  };
  EXPECT_THAT(NewS3FileSystem(options)->List("s3://weir/a"),
              StatusIs(absl::StatusCode::kUnauthenticated, ::testing::HasSubstr("check AWS_ACCESS_KEY_ID")));
  EXPECT_THAT(NewS3FileSystem()->List("s3://no-such-bucket/a"),
              StatusIs(absl::StatusCode::kFailedPrecondition, ::testing::HasSubstr("there is no bucket")));
}

// The files of a checkpoint appear data first, index last: it is whole at any time, or absent.
TEST(S3Test, CheckpointsReplaceEachOtherAndAreMerged) {
  const std::shared_ptr<FileSystem> files = NewS3FileSystem();
  const std::string dir = "s3://weir/merged";
  for (const float value : {1.0f, 2.0f}) {
    for (const char* part : {"part-0", "part-1"}) {
      ASSERT_OK_AND_ASSIGN(const auto writer, BundleWriter::Create(files.get(), JoinPath(dir, part)));
      ASSERT_THAT(writer->Add(part, Tensor::Scalar<float>(value)), IsOk());
      EXPECT_FALSE(files->Exists(JoinPath(dir, absl::StrCat(part, ".index"))));
      ASSERT_THAT(writer->Finish(), IsOk());
    }
    const std::vector<std::string> parts = {JoinPath(dir, "part-0"), JoinPath(dir, "part-1")};
    ASSERT_THAT(MergeBundles(files.get(), parts, JoinPath(dir, "whole")), IsOk());
    ASSERT_OK_AND_ASSIGN(const auto reader, BundleReader::Open(files.get(), JoinPath(dir, "whole")));
    ASSERT_OK_AND_ASSIGN(const Tensor read, reader->Read("part-1"));
    EXPECT_EQ(read.scalar<float>(), value);
  }
  EXPECT_THAT(*files->List(dir), ElementsAre("whole.data-00000-of-00002", "whole.data-00001-of-00002", "whole.index"));
  EXPECT_THAT(files->DeleteRecursively(dir), IsOk());
}

}  // namespace
}  // namespace weir
