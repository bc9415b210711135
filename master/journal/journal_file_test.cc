#include "master/journal/journal_file.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

std::string All(const JournalFile& file) {
  std::string bytes(file.Size().value(), '\0');
  EXPECT_THAT(file.Read({0, bytes.size()}, bytes.data()), IsOk());
  return bytes;
}

class JournalFileTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<JournalFile>> Open() {
    return JournalFile::Open(directory_.Path("journals"), "worker-0");
  }

  ScratchDirectory directory_;
};

TEST_F(JournalFileTest, KeepsWhatWasAppendedAndReplaced) {
  {
    ASSERT_OK_AND_ASSIGN(const auto file, Open());
    ASSERT_THAT(file->Append("abcdefgh"), IsOk());
    ASSERT_THAT(file->Truncate(6), IsOk());
    ASSERT_THAT(file->Replace("head ", {{1, 2}, {4, 2}}), IsOk());
    ASSERT_THAT(file->Append(" more"), IsOk());
  }
  ASSERT_OK_AND_ASSIGN(const auto file, Open());
  EXPECT_EQ(All(*file), "head bcef more");
}

TEST_F(JournalFileTest, AFailedReplacementLeavesTheContent) {
  ASSERT_OK_AND_ASSIGN(const auto file, Open());
  ASSERT_THAT(file->Append("abc"), IsOk());
  EXPECT_THAT(file->Replace("head", {{2, 5}}), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_EQ(All(*file), "abc");
  struct stat info;
  EXPECT_NE(stat((file->name() + ".new").c_str(), &info), 0);
}

TEST_F(JournalFileTest, OneProcessUsesIt) {
  ASSERT_OK_AND_ASSIGN(auto file, Open());
  EXPECT_THAT(Open(), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("Another process uses journal")));
  file.reset();
  EXPECT_THAT(Open(), IsOk());
}

TEST_F(JournalFileTest, ADeadProcessHoldsNoLock) {
  const pid_t child = fork();
  if (child == 0) _exit(Open().ok() ? (raise(SIGKILL), 1) : 2);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_THAT(Open(), IsOk());
}

TEST_F(JournalFileTest, OthersCannotReadIt) {
  ASSERT_OK_AND_ASSIGN(const auto file, Open());
  ASSERT_THAT(file->Replace("secret", {}), IsOk());
  struct stat info;
  ASSERT_EQ(stat(file->name().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0077, 0);
}

}  // namespace
}  // namespace weir
