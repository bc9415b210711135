#include "core/process_stat.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "core/testing.h"

namespace weir {
namespace {

TEST(ProcessStatTest, TellsStateAndParentUntilTheProcessIsGone) {
  const pid_t child = fork();
  if (child == 0) {
    raise(SIGSTOP);
    _exit(0);
  }
  ASSERT_GT(child, 0);
  const std::string folder = absl::StrCat("/proc/", child);
  ASSERT_EQ(waitpid(child, nullptr, WUNTRACED), child);
  const std::optional<ProcessStat> stopped = ReadProcessStat(folder);
  ASSERT_TRUE(stopped.has_value());
  EXPECT_EQ(stopped->state, 'T');
  EXPECT_EQ(stopped->parent, getpid());
  ASSERT_EQ(kill(child, SIGKILL), 0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(ReadProcessStat(folder).has_value());
}

}  // namespace
}  // namespace weir
