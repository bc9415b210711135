// The demo is interrupted while it trains: it ends in order, with the status that shells expect, and leaves no process.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "core/clock.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"

namespace weir {
namespace {

// The demo in a process group of its own. Its orphans come to this process, so that none escapes notice.
class Demo {
 public:
  Demo() {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    int fds[2];
    EXPECT_EQ(pipe2(fds, O_CLOEXEC), 0);
    output_ = fds[0];
    // More steps than it ever makes.
    const char* const arguments[] = {WEIR_DIGITS, "--demo",     "--weir",      WEIR_PROGRAM,
                                     "--data",    WEIR_DATASET, "--directory", directory_.path().c_str(),
                                     "--steps",   "1000000",    nullptr};
    pid_ = fork();
    if (pid_ == 0) {
      setpgid(0, 0);
      dup2(fds[1], STDOUT_FILENO);
      dup2(fds[1], STDERR_FILENO);
      execv(arguments[0], const_cast<char**>(arguments));
      _exit(127);
    }
    close(fds[1]);
  }
  ~Demo() {
    if (!ended_) kill(-pid_, SIGKILL);
    while (waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
    }
    close(output_);
  }

  // Reads what the demo writes until a line says that training is under way.
  bool AwaitTraining() {
    while (!absl::StrContains(text_, "examples/s")) {
      if (!ReadSome(absl::Seconds(60))) return false;
    }
    return true;
  }
  // As the terminal does at Ctrl-C: everybody in the group gets it.
  void SignalGroup(int signal) { kill(-pid_, signal); }
  // The status as a shell would show it; -1 when the demo does not end.
  int AwaitEnd(absl::Duration patience) {
    const absl::Time deadline = MonotonicNow() + patience;
    // The output ends with the last process that writes there.
    while (ReadSome(deadline - MonotonicNow())) {
    }
    int state = 0;
    pid_t ended = 0;
    while ((ended = waitpid(pid_, &state, WNOHANG)) == 0 && MonotonicNow() < deadline)
      absl::SleepFor(absl::Milliseconds(5));
    if (ended != pid_) return -1;
    ended_ = true;
    return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
  }
  // Whether all that the demo started is gone by then.
  static bool NothingIsLeft(absl::Duration patience) {
    const absl::Time deadline = MonotonicNow() + patience;
    pid_t orphan = 0;
    while ((orphan = waitpid(-1, nullptr, WNOHANG)) >= 0 || errno == EINTR) {
      if (MonotonicNow() > deadline) return false;
      if (orphan == 0) absl::SleepFor(absl::Milliseconds(5));
    }
    return errno == ECHILD;
  }
  const std::string& text() const { return text_; }

 private:
  // False at the end of the output and when nothing comes in time.
  bool ReadSome(absl::Duration patience) {
    pollfd ready = {.fd = output_, .events = POLLIN};
    if (poll(&ready, 1, static_cast<int>(absl::ToInt64Milliseconds(std::max(patience, absl::ZeroDuration())))) <= 0) {
      return false;
    }
    char buffer[4096];
    const ssize_t got = read(output_, buffer, sizeof(buffer));
    if (got <= 0) return false;
    text_.append(buffer, got);
    return true;
  }

  ScratchDirectory directory_;
  pid_t pid_ = -1;
  bool ended_ = false;
  int output_ = -1;
  std::string text_;
};

TEST(DemoSignalTest, CtrlCEndsItInOrder) {
  Demo demo;
  ASSERT_TRUE(demo.AwaitTraining()) << demo.text();
  demo.SignalGroup(SIGINT);
  EXPECT_EQ(demo.AwaitEnd(absl::Seconds(60)), 130) << demo.text();
  EXPECT_THAT(demo.text(), ::testing::HasSubstr("digits: interrupted"));
  // It has waited for all of its tasks: there is nobody to inherit.
  EXPECT_TRUE(Demo::NothingIsLeft(absl::ZeroDuration()));
}

TEST(DemoSignalTest, SigtermEndsItInOrder) {
  Demo demo;
  ASSERT_TRUE(demo.AwaitTraining()) << demo.text();
  demo.SignalGroup(SIGTERM);
  EXPECT_EQ(demo.AwaitEnd(absl::Seconds(60)), 143) << demo.text();
  EXPECT_TRUE(Demo::NothingIsLeft(absl::ZeroDuration()));
}

TEST(DemoSignalTest, ASecondCtrlCEndsItAtOnce) {
  Demo demo;
  ASSERT_TRUE(demo.AwaitTraining()) << demo.text();
  demo.SignalGroup(SIGINT);
  demo.SignalGroup(SIGINT);
  EXPECT_EQ(demo.AwaitEnd(absl::Seconds(60)), 130) << demo.text();
  EXPECT_TRUE(Demo::NothingIsLeft(absl::Seconds(30)));
}

TEST(DemoSignalTest, ItsTasksDieWithIt) {
  Demo demo;
  ASSERT_TRUE(demo.AwaitTraining()) << demo.text();
  demo.SignalGroup(SIGKILL);
  EXPECT_EQ(demo.AwaitEnd(absl::Seconds(60)), 137);
  EXPECT_TRUE(Demo::NothingIsLeft(absl::Seconds(30)));
}

}  // namespace
}  // namespace weir
