#include "core/files/file_system.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/files/fault_injecting_file_system.h"
#include "core/files/file_system_conformance_testing.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"

namespace weir {
namespace {

FileSystemWorld PosixWorld() {
  std::string dir = testing::TempDir() + "weir_fs_XXXXXX";
  EXPECT_NE(mkdtemp(dir.data()), nullptr);
  return {nullptr, NewPosixFileSystem(), dir};
}

FileSystemWorld MemoryWorld() { return {nullptr, NewMemoryFileSystem(), "mem://test"}; }

FileSystemWorld FaultInjectingWorld() {
  std::shared_ptr<FileSystem> base = NewMemoryFileSystem();
  return {base, std::make_shared<FaultInjectingFileSystem>(base.get()), "mem://test"};
}

INSTANTIATE_TEST_SUITE_P(Posix, FileSystemConformance, testing::Values(&PosixWorld));
INSTANTIATE_TEST_SUITE_P(Memory, FileSystemConformance, testing::Values(&MemoryWorld));
INSTANTIATE_TEST_SUITE_P(FaultInjecting, FileSystemConformance, testing::Values(&FaultInjectingWorld));

TEST(FileSystemTest, AFailingStatDoesNotSayThatAFileIsAbsent) {
  const FileSystemWorld world = MemoryWorld();
  FaultInjectingFileSystem files(world.fs.get());
  ASSERT_THAT(WriteStringToFile(&files, "mem://a", "content"), IsOk());
  EXPECT_EQ(files.CheckExists("mem://a").value_or(false), true);
  EXPECT_EQ(files.CheckExists("mem://b").value_or(true), false);
  files.Inject({.kinds = {FaultInjectingFileSystem::kStat}});
  EXPECT_THAT(files.CheckExists("mem://a"), StatusIs(absl::StatusCode::kUnavailable));
}

TEST(PosixFileSystemTest, PipesAreNotWaitedFor) {
  const FileSystemWorld world = PosixWorld();
  const std::string path = JoinPath(world.dir, "pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(world.fs->NewReadableFile(path).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(world.fs->NewWritableFile(path).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(world.fs->NewAppendableFile(path).status().code(), absl::StatusCode::kFailedPrecondition);
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  auto writer = world.fs->NewWritableFile(path);
  ASSERT_TRUE(writer.ok()) << writer.status();
  EXPECT_EQ((*writer)->Append(std::string(1 << 20, 'x')).code(), absl::StatusCode::kUnavailable);
  writer->reset();
  close(reader);
  EXPECT_TRUE(world.fs->DeleteRecursively(world.dir).ok());
}

TEST(PosixFileSystemTest, DevicesHaveNoEndToReadTo) {
  const FileSystemWorld world = PosixWorld();
  EXPECT_EQ(ReadFileToString(world.fs.get(), "/dev/null").value_or("nothing"), "");
  const absl::Status zeros = world.fs->NewReadableFile("/dev/zero").status();
  EXPECT_EQ(zeros.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(zeros.message()), testing::HasSubstr("not a regular file"));
  EXPECT_TRUE(world.fs->DeleteRecursively(world.dir).ok());
}

TEST(PosixFileSystemTest, NamesDoNotEndInTheMiddle) {
  const FileSystemWorld world = PosixWorld();
  const std::string path = JoinPath(world.dir, "file");
  ASSERT_TRUE(WriteStringToFile(world.fs.get(), path, "here").ok());
  const std::string longer = path + std::string("\0.part", 6);
  for (const absl::Status& status :
       {world.fs->NewReadableFile(longer).status(), world.fs->NewWritableFile(longer).status(),
        world.fs->NewAppendableFile(longer).status(), world.fs->Rename(longer, path + "2"),
        world.fs->Rename(path, longer), world.fs->DeleteFile(longer), world.fs->DeleteRecursively(longer),
        world.fs->CreateDir(longer), world.fs->List(longer).status(), world.fs->Stat(longer).status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr("\\000.part"));
  }
  EXPECT_EQ(ReadFileToString(world.fs.get(), path).value_or("gone"), "here");
  EXPECT_TRUE(world.fs->DeleteRecursively(world.dir).ok());
}

TEST(PosixFileSystemTest, LinksThatLeadInACircleAreAPrecondition) {
  const FileSystemWorld world = PosixWorld();
  const std::string path = JoinPath(world.dir, "circle");
  ASSERT_EQ(symlink(path.c_str(), path.c_str()), 0);
  EXPECT_EQ(world.fs->NewReadableFile(path).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(world.fs->DeleteRecursively(world.dir).ok());
}

TEST(FaultInjectingFileSystemTest, ACrashAnywhereLeavesTheOldContentOrTheNew) {
  auto base = NewMemoryFileSystem();
  FaultInjectingFileSystem fs(base.get());
  int64_t at = 0;
  for (;; ++at) {
    fs.Heal();
    ASSERT_TRUE(WriteStringToFile(&fs, "state", "old content").ok());
    FaultInjectingFileSystem::Fault fault;
    fault.at = at;
    fs.Inject(fault);
    absl::Status status = WriteStringToFile(&fs, "state", "the new content");
    const bool crashed = fs.fault_happened();
    fs.Heal();
    ASSERT_TRUE(fs.DropUnsyncedData().ok());
    const std::string content = *ReadFileToString(base.get(), "state");
    EXPECT_TRUE(content == "old content" || content == "the new content") << at << ": " << content;
    if (!crashed) break;
    EXPECT_FALSE(status.ok());
  }
  EXPECT_GE(at, 5);
}

TEST(FaultInjectingFileSystemTest, FailsTheNthOfAKindAndWritesShort) {
  auto base = NewMemoryFileSystem();
  FaultInjectingFileSystem fs(base.get());
  auto file = fs.NewWritableFile("a");
  FaultInjectingFileSystem::Fault fault;
  fault.at = 1;
  fault.kinds = {FaultInjectingFileSystem::kAppend};
  fault.crash = false;
  fs.Inject(fault);
  EXPECT_TRUE((*file)->Append("1234").ok());
  EXPECT_EQ((*file)->Append("5678").code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE((*file)->Append("9").ok());
  EXPECT_EQ(*ReadFileToString(base.get(), "a"), "1234569");
}

TEST(FaultInjectingFileSystemTest, DropsWhatWasNotSynced) {
  auto base = NewMemoryFileSystem();
  FaultInjectingFileSystem fs(base.get());
  auto file = fs.NewWritableFile("a");
  ASSERT_TRUE((*file)->Append("kept").ok());
  ASSERT_TRUE((*file)->Sync().ok());
  ASSERT_TRUE((*file)->Append("lost").ok());
  ASSERT_TRUE(fs.Rename("a", "b").ok());
  ASSERT_TRUE(fs.DropUnsyncedData().ok());
  EXPECT_EQ(*ReadFileToString(base.get(), "b"), "kept");
}

TEST(FileLockTest, ExcludesOthersUntilItIsReleased) {
  const ScratchDirectory directory;
  const auto posix = NewPosixFileSystem(), memory = NewMemoryFileSystem();
  for (auto [fs, path] :
       {std::pair(posix.get(), directory.Path("lock")), std::pair(memory.get(), std::string("lock"))}) {
    auto held = fs->Lock(path, absl::ZeroDuration());
    ASSERT_TRUE(held.ok()) << held.status();
    EXPECT_EQ(fs->Lock(path, absl::ZeroDuration()).status().code(), absl::StatusCode::kDeadlineExceeded);
    held->reset();
    EXPECT_TRUE(fs->Lock(path, absl::ZeroDuration()).ok());
    EXPECT_EQ(fs->Lock(path + "/no/such", absl::ZeroDuration()).ok(), false);
  }
}

// Has one directory with more files than a pattern may match.
class HugeDirectory : public FileSystem {
 public:
  absl::StatusOr<std::unique_ptr<ReadableFile>> NewReadableFile(const std::string&) override { return no_; }
  absl::StatusOr<std::unique_ptr<WritableFile>> NewWritableFile(const std::string&) override { return no_; }
  absl::StatusOr<std::unique_ptr<WritableFile>> NewAppendableFile(const std::string&) override { return no_; }
  absl::Status Rename(const std::string&, const std::string&) override { return no_; }
  absl::Status DeleteFile(const std::string&) override { return no_; }
  absl::Status DeleteRecursively(const std::string&) override { return no_; }
  absl::Status CreateDir(const std::string&) override { return no_; }
  absl::StatusOr<std::vector<std::string>> List(const std::string&) override {
    return std::vector<std::string>(kMaxMatches + 1, "file");
  }
  absl::StatusOr<FileStat> Stat(const std::string&) override { return FileStat(); }
  absl::Status SyncDir(const std::string&) override { return no_; }
  absl::StatusOr<std::unique_ptr<FileLock>> Lock(const std::string&, absl::Duration) override { return no_; }

 private:
  const absl::Status no_ = absl::UnimplementedError("");
};

TEST(GlobTest, TheLimitHoldsWithinADirectory) {
  HugeDirectory files;
  EXPECT_EQ(files.Glob("d/*").status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(files.Glob("d/*.absent").ok());
}

TEST(FileSystemRegistryTest, FindsByScheme) {
  auto registry = FileSystemRegistry::Default();
  EXPECT_EQ(*registry->Find("/tmp/a"), *registry->Find("file:///tmp/a"));
  EXPECT_NE(*registry->Find("/tmp/a"), *registry->Find("mem://a"));
  EXPECT_EQ(registry->Find("gs://bucket/a").status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(registry->Register("mem", NewMemoryFileSystem()).code(), absl::StatusCode::kAlreadyExists);
}

TEST(PathTest, TakesApartAndJoins) {
  EXPECT_EQ(JoinPath("a", "b"), "a/b");
  EXPECT_EQ(JoinPath("a/", "b"), "a/b");
  EXPECT_EQ(JoinPath("a", "/b"), "/b");
  EXPECT_EQ(DirName("/a/b"), "/a");
  EXPECT_EQ(DirName("/a"), "/");
  EXPECT_EQ(DirName("a"), "");
  EXPECT_EQ(DirName("mem://a"), "mem://");
  EXPECT_EQ(BaseName("a/b"), "b");
}

}  // namespace
}  // namespace weir
