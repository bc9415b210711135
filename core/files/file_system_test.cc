#include "core/files/file_system.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/files/fault_injecting_file_system.h"
#include "core/files/scratch_directory_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

using ::testing::ElementsAre;

// A file system and a directory of the test's own.
struct World {
  std::shared_ptr<FileSystem> base;
  std::shared_ptr<FileSystem> fs;
  std::string dir;
};

World PosixWorld() {
  std::string dir = testing::TempDir() + "weir_fs_XXXXXX";
  EXPECT_NE(mkdtemp(dir.data()), nullptr);
  return {nullptr, NewPosixFileSystem(), dir};
}

World MemoryWorld() { return {nullptr, NewMemoryFileSystem(), "mem://test"}; }

World FaultInjectingWorld() {
  std::shared_ptr<FileSystem> base = NewMemoryFileSystem();
  return {base, std::make_shared<FaultInjectingFileSystem>(base.get()), "mem://test"};
}

class FileSystemConformance : public testing::TestWithParam<World (*)()> {
 protected:
  void SetUp() override {
    world_ = GetParam()();
    ASSERT_TRUE(fs()->CreateDir(world_.dir).ok());
  }
  void TearDown() override { EXPECT_TRUE(fs()->DeleteRecursively(world_.dir).ok()); }

  FileSystem* fs() { return world_.fs.get(); }
  std::string Path(absl::string_view name) { return JoinPath(world_.dir, name); }
  void Write(absl::string_view name, absl::string_view data) {
    auto file = fs()->NewWritableFile(Path(name));
    ASSERT_TRUE(file.ok()) << file.status();
    ASSERT_TRUE((*file)->Append(data).ok());
    ASSERT_TRUE((*file)->Close().ok());
  }
  std::string Read(absl::string_view name) { return ReadFileToString(fs(), Path(name)).value_or("<absent>"); }

  World world_;
};

INSTANTIATE_TEST_SUITE_P(Posix, FileSystemConformance, testing::Values(&PosixWorld));
INSTANTIATE_TEST_SUITE_P(Memory, FileSystemConformance, testing::Values(&MemoryWorld));
INSTANTIATE_TEST_SUITE_P(FaultInjecting, FileSystemConformance, testing::Values(&FaultInjectingWorld));

TEST_P(FileSystemConformance, ReadsWhatWasWritten) {
  const std::string large(200'000, 'x');
  auto file = fs()->NewWritableFile(Path("a"));
  ASSERT_TRUE(file.ok()) << file.status();
  for (absl::string_view data : {absl::string_view("head"), absl::string_view(large), absl::string_view("tail")}) {
    ASSERT_TRUE((*file)->Append(data).ok());
  }
  ASSERT_TRUE((*file)->Flush().ok());
  EXPECT_EQ(*fs()->Size(Path("a")), 200'008);
  ASSERT_TRUE((*file)->Sync().ok());
  ASSERT_TRUE((*file)->Close().ok());
  EXPECT_TRUE((*file)->Close().ok());
  EXPECT_EQ(Read("a"), "head" + large + "tail");
}

TEST_P(FileSystemConformance, ReadsAtAnyOffset) {
  Write("a", "0123456789");
  auto file = fs()->NewReadableFile(Path("a"));
  ASSERT_TRUE(file.ok()) << file.status();
  char buffer[8] = {};
  EXPECT_EQ(*(*file)->Read(3, 4, buffer), 4);
  EXPECT_EQ(std::string(buffer, 4), "3456");
  EXPECT_EQ(*(*file)->Read(8, 8, buffer), 2);
  EXPECT_EQ(*(*file)->Read(100, 8, buffer), 0);
  absl::Status truncated = (*file)->ReadFully(8, 8, buffer);
  EXPECT_EQ(truncated.code(), absl::StatusCode::kDataLoss);
  EXPECT_NE(truncated.message().find(Path("a")), absl::string_view::npos);
}

TEST_P(FileSystemConformance, AppendsAndEmpties) {
  Write("a", "one");
  auto file = fs()->NewAppendableFile(Path("a"));
  ASSERT_TRUE((*file)->Append("two").ok());
  ASSERT_TRUE((*file)->Close().ok());
  EXPECT_EQ(Read("a"), "onetwo");
  Write("a", "");
  EXPECT_EQ(Read("a"), "");
}

TEST_P(FileSystemConformance, RenameReplaces) {
  Write("a", "new");
  Write("b", "old");
  auto reader = fs()->NewReadableFile(Path("b"));
  ASSERT_TRUE(fs()->Rename(Path("a"), Path("b")).ok());
  EXPECT_FALSE(fs()->Exists(Path("a")));
  EXPECT_EQ(Read("b"), "new");
  char old[3];
  EXPECT_TRUE((*reader)->ReadFully(0, 3, old).ok());
  EXPECT_EQ(std::string(old, 3), "old");
  EXPECT_EQ(fs()->Rename(Path("a"), Path("b")).code(), absl::StatusCode::kNotFound);
}

TEST_P(FileSystemConformance, DirectoriesNest) {
  ASSERT_TRUE(fs()->CreateDir(Path("d/e/f")).ok());
  ASSERT_TRUE(fs()->CreateDir(Path("d/e")).ok());
  Write("d/e/x", "1");
  Write("d/y", "2");
  EXPECT_THAT(*fs()->List(Path("d")), ElementsAre("e", "y"));
  EXPECT_TRUE(fs()->Stat(Path("d/e"))->is_directory);
  EXPECT_EQ(fs()->Stat(Path("d/y"))->size, 1);
  EXPECT_TRUE(fs()->SyncDir(Path("d")).ok());
  ASSERT_TRUE(fs()->DeleteRecursively(Path("d")).ok());
  EXPECT_FALSE(fs()->Exists(Path("d/e/x")));
  EXPECT_EQ(fs()->DeleteRecursively(Path("d")).code(), absl::StatusCode::kNotFound);
}

TEST_P(FileSystemConformance, GlobMatchesComponents) {
  ASSERT_TRUE(fs()->CreateDir(Path("d1")).ok());
  ASSERT_TRUE(fs()->CreateDir(Path("d2")).ok());
  for (const char* name : {"d1/a.index", "d1/b.data", "d2/c.index"}) Write(name, "");
  EXPECT_THAT(*fs()->Glob(Path("d*/*.index")), ElementsAre(Path("d1/a.index"), Path("d2/c.index")));
  EXPECT_THAT(*fs()->Glob(Path("d1/[bx].data")), ElementsAre(Path("d1/b.data")));
  EXPECT_THAT(*fs()->Glob(Path("nowhere/*")), ElementsAre());
  int asked = 0;
  const auto tired = [&] { return ++asked < 6 ? absl::OkStatus() : absl::CancelledError("enough"); };
  EXPECT_EQ(fs()->Glob(Path("d*/*"), tired).status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(asked, 6);
}

TEST_P(FileSystemConformance, ErrorsNameThePath) {
  EXPECT_EQ(fs()->NewReadableFile(Path("absent")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(fs()->NewReadableFile(world_.dir).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(fs()->NewWritableFile(Path("absent/a")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(fs()->DeleteFile(Path("absent")).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(fs()->List(Path("absent")).status().code(), absl::StatusCode::kNotFound);
  absl::Status status = fs()->Stat(Path("absent")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(status.message().find(Path("absent")), absl::string_view::npos);
}

TEST_P(FileSystemConformance, WriteStringToFileReplacesAtOnce) {
  ASSERT_TRUE(WriteStringToFile(fs(), Path("a"), "one").ok());
  ASSERT_TRUE(WriteStringToFile(fs(), Path("a"), "two").ok());
  EXPECT_EQ(Read("a"), "two");
  EXPECT_THAT(*fs()->List(world_.dir), ElementsAre("a"));
  EXPECT_EQ(ReadFileToString(fs(), Path("a"), 2).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(PosixFileSystemTest, PipesAreNotWaitedFor) {
  const World world = PosixWorld();
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
  const World world = PosixWorld();
  EXPECT_EQ(ReadFileToString(world.fs.get(), "/dev/null").value_or("nothing"), "");
  const absl::Status zeros = world.fs->NewReadableFile("/dev/zero").status();
  EXPECT_EQ(zeros.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(zeros.message()), testing::HasSubstr("not a regular file"));
  EXPECT_TRUE(world.fs->DeleteRecursively(world.dir).ok());
}

TEST(PosixFileSystemTest, NamesDoNotEndInTheMiddle) {
  const World world = PosixWorld();
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
  const World world = PosixWorld();
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
