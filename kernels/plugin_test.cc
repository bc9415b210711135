#include "kernels/plugin.h"

#include <sys/stat.h>

#include <string>

#include "core/files/file_system.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Files that are rejected before they are loaded; tests/install loads a real plug-in.
class PluginTest : public testing::Test {
 protected:
  std::string Write(const std::string& text) {
    const std::string path = directory_.path() + "/ops.so";
    EXPECT_THAT(WriteStringToFile(NewPosixFileSystem().get(), path, text), IsOk());
    return path;
  }
  absl::Status Load(const std::string& path) { return LoadPlugin(path, {.folders = {directory_.path()}}); }

  ScratchDirectory directory_;
};

TEST_F(PluginTest, AFileThatIsNotThereIsNotFound) {
  EXPECT_THAT(Load(directory_.path() + "/none.so"), StatusIs(absl::StatusCode::kNotFound, HasSubstr("none.so")));
}

TEST_F(PluginTest, OnlyFilesOfTheFoldersAreLoaded) {
  const std::string path = Write("");
  EXPECT_THAT(LoadPlugin(path), StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr(DefaultPluginFolder())));
  ScratchDirectory other;
  EXPECT_THAT(
      LoadPlugin(path, {.folders = {other.path()}}),
      StatusIs(absl::StatusCode::kPermissionDenied, AllOf(HasSubstr("ops.so is in none"), HasSubstr(other.path()))));
}

TEST_F(PluginTest, ALinkToAnotherFolderIsFollowed) {
  const std::string path = Write("");
  ScratchDirectory other;
  const std::string link = other.path() + "/link.so";
  ASSERT_EQ(symlink(path.c_str(), link.c_str()), 0);
  EXPECT_THAT(LoadPlugin(link, {.folders = {other.path()}}), StatusIs(absl::StatusCode::kPermissionDenied));
}

TEST_F(PluginTest, FilesThatOthersMayWriteAreRejected) {
  const std::string path = Write("");
  ASSERT_EQ(chmod(path.c_str(), 0666), 0);
  EXPECT_THAT(Load(path), StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("chmod o-w")));
}

TEST_F(PluginTest, OtherFilesAreNoPlugins) {
  EXPECT_THAT(Load(Write("\x7f"
                         "ELF")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not a plug-in")));
}

TEST_F(PluginTest, AnotherAbiIsNamedBesideOurs) {
  const std::string text = std::string(
                               "\x7f"
                               "ELF" WEIR_PLUGIN_MARK "Weir 9.9") +
                           '\0' + "rest";
  EXPECT_THAT(Load(Write(text)), StatusIs(absl::StatusCode::kFailedPrecondition,
                                          AllOf(HasSubstr("built for Weir 9.9,"), HasSubstr(WEIR_PLUGIN_ABI))));
}

// As this test does: a plug-in would bring a second Weir.
TEST_F(PluginTest, AProgramWithWeirWithinLoadsNone) {
  const std::string text = std::string(WEIR_PLUGIN_MARK WEIR_PLUGIN_ABI) + '\0';
  EXPECT_THAT(Load(Write(text)), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("needs libweir.so")));
  EXPECT_TRUE(PluginFamilies().empty());
}

}  // namespace
}  // namespace weir
