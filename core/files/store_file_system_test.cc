#include "core/files/store_file_system.h"

#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"

namespace weir {
namespace {

using ::testing::ElementsAre;

TEST(StoreFileSystemTest, PathsAreInTheDirectory) {
  const ScratchDirectory directory;
  ASSERT_OK_AND_ASSIGN(const auto store, NewStoreFileSystem(directory.Path("store")));
  ASSERT_THAT(store->CreateDir("store://model/5"), IsOk());
  ASSERT_THAT(WriteStringToFile(store.get(), "store://model/5/a", "text"), IsOk());
  ASSERT_THAT(store->Rename("store://model/5/a", "store://model/5/b"), IsOk());
  ASSERT_OK_AND_ASSIGN(const std::string text,
                       ReadFileToString(NewPosixFileSystem().get(), directory.Path("store/model/5/b")));
  EXPECT_EQ(text, "text");
  ASSERT_OK_AND_ASSIGN(const auto found, store->Glob("store://model/*/*"));
  EXPECT_THAT(found, ElementsAre("store://model/5/b"));
  ASSERT_THAT(store->DeleteRecursively("store://model"), IsOk());
  EXPECT_FALSE(store->Exists("store://model"));
}

TEST(StoreFileSystemTest, NoPathLeavesTheDirectory) {
  const ScratchDirectory directory;
  ASSERT_OK_AND_ASSIGN(const auto store, NewStoreFileSystem(directory.Path("store")));
  EXPECT_THAT(WriteStringToFile(store.get(), "store://model/../../x", ""),
              StatusIs(absl::StatusCode::kInvalidArgument));
  const std::string absolute = directory.Path("file");
  ASSERT_THAT(store->CreateDir("store://" + absolute), IsOk());
  EXPECT_FALSE(NewPosixFileSystem()->Exists(absolute));
  EXPECT_TRUE(NewPosixFileSystem()->Exists(directory.Path("store") + absolute));
  EXPECT_THAT(NewStoreFileSystem("").status(), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace weir
