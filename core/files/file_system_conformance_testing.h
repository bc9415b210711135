// The tests that every file system passes. Included by one file of a test program, which instantiates them:
//   INSTANTIATE_TEST_SUITE_P(Mine, FileSystemConformance, testing::Values(&MyWorld));
#pragma once

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files/file_system.h"

namespace weir {

// A file system and a directory of the test's own.
struct FileSystemWorld {
  std::shared_ptr<FileSystem> base;
  std::shared_ptr<FileSystem> fs;
  std::string dir;
};

class FileSystemConformance : public testing::TestWithParam<FileSystemWorld (*)()> {
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

  FileSystemWorld world_;
};

TEST_P(FileSystemConformance, ReadsWhatWasWritten) {
  const std::string large(200'000, 'x');
  auto file = fs()->NewWritableFile(Path("a"));
  ASSERT_TRUE(file.ok()) << file.status();
  for (absl::string_view data : {absl::string_view("head"), absl::string_view(large), absl::string_view("tail")}) {
    ASSERT_TRUE((*file)->Append(data).ok());
  }
  ASSERT_TRUE((*file)->Flush().ok());
  if (fs()->PublishesOnClose()) {
    EXPECT_FALSE(fs()->Exists(Path("a")));
  } else {
    EXPECT_EQ(*fs()->Size(Path("a")), 200'008);
  }
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
  EXPECT_THAT(*fs()->List(Path("d")), testing::ElementsAre("e", "y"));
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
  EXPECT_THAT(*fs()->Glob(Path("d*/*.index")), testing::ElementsAre(Path("d1/a.index"), Path("d2/c.index")));
  EXPECT_THAT(*fs()->Glob(Path("d1/[bx].data")), testing::ElementsAre(Path("d1/b.data")));
  EXPECT_THAT(*fs()->Glob(Path("nowhere/*")), testing::ElementsAre());
  int asked = 0;
  const auto tired = [&] { return ++asked < 6 ? absl::OkStatus() : absl::CancelledError("enough"); };
  EXPECT_EQ(fs()->Glob(Path("d*/*"), tired).status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(asked, 6);
}

TEST_P(FileSystemConformance, ErrorsNameThePath) {
  EXPECT_EQ(fs()->NewReadableFile(Path("absent")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(fs()->NewReadableFile(world_.dir).status().code(), absl::StatusCode::kFailedPrecondition);
  if (!fs()->PublishesOnClose()) {
    EXPECT_EQ(fs()->NewWritableFile(Path("absent/a")).status().code(), absl::StatusCode::kNotFound);
  }
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
  EXPECT_THAT(*fs()->List(world_.dir), testing::ElementsAre("a"));
  EXPECT_EQ(ReadFileToString(fs(), Path("a"), 2).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_P(FileSystemConformance, AFileThatIsNotClosedAppearsOnlyIfTheOthersDo) {
  Write("a", "old");
  {
    auto file = fs()->NewWritableFile(Path("a"));
    ASSERT_TRUE((*file)->Append("new").ok());
  }
  EXPECT_EQ(Read("a"), fs()->PublishesOnClose() ? "old" : "new");
}

TEST_P(FileSystemConformance, DeletesFilesAndNothingElse) {
  Write("a", "1");
  Write("a.b", "2");
  ASSERT_TRUE(fs()->CreateDir(Path("d")).ok());
  EXPECT_EQ(fs()->DeleteFile(Path("d")).ok(), false);
  ASSERT_TRUE(fs()->DeleteFile(Path("a")).ok());
  EXPECT_TRUE(fs()->DeleteIfExists(Path("a")).ok());
  EXPECT_THAT(*fs()->List(world_.dir), testing::ElementsAre("a.b", "d"));
}

TEST_P(FileSystemConformance, NamesMayHaveAnyLetters) {
  const std::string name = "a b+c%2F&<d>=\u00e9~'\"$;,@!()";
  Write(name, "content");
  EXPECT_EQ(Read(name), "content");
  EXPECT_THAT(*fs()->List(world_.dir), testing::ElementsAre(name));
  ASSERT_TRUE(fs()->Rename(Path(name), Path("x " + name)).ok());
  EXPECT_EQ(Read("x " + name), "content");
  ASSERT_TRUE(fs()->DeleteRecursively(Path("x " + name)).ok());
  EXPECT_THAT(*fs()->List(world_.dir), testing::ElementsAre());
}

}  // namespace weir
