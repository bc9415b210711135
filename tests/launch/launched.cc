#include "tests/launch/launched.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "core/clock.h"
#include "core/testing.h"

namespace weir {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(60);

// Both ends of a terminal, or of a pipe: to read from, to write to.
void OpenOutput(bool terminal, int ends[2]) {
  if (!terminal) {
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    return;
  }
  ends[0] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  EXPECT_EQ(grantpt(ends[0]), 0);
  EXPECT_EQ(unlockpt(ends[0]), 0);
  ends[1] = open(ptsname(ends[0]), O_RDWR | O_NOCTTY | O_CLOEXEC);
}

int CountOf(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

}  // namespace

Launched::Launched(const std::vector<std::string>& arguments, const Options& options) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  int ends[2];
  OpenOutput(options.terminal, ends);
  output_ = ends[0];
  std::vector<const char*> words = {WEIR_PROGRAM, "launch"};
  for (const std::string& argument : arguments) words.push_back(argument.c_str());
  words.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    setpgid(0, 0);
    for (const auto& [name, value] : options.variables) setenv(name.c_str(), value.c_str(), 1);
    for (const int signal : options.ignored) ::signal(signal, SIG_IGN);
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    execv(words[0], const_cast<char**>(words.data()));
    _exit(127);
  }
  setpgid(pid_, pid_);
  close(ends[1]);
}

Launched::~Launched() {
  if (!ended_) kill(-pid_, SIGKILL);
  CloseOutput();
  EXPECT_TRUE(NothingIsLeft());
}

pid_t Launched::Inner() const {
  std::ifstream file(absl::StrCat("/proc/", pid_, "/task/", pid_, "/children"));
  pid_t inner = -1;
  file >> inner;
  return inner;
}

bool Launched::Await(const std::string& text, int count) {
  const absl::Time deadline = MonotonicNow() + kPatience;
  while (CountOf(text_, text) < count) {
    if (!ReadSome(deadline)) return false;
  }
  return true;
}

void Launched::Signal(int signal) const { kill(pid_, signal); }

void Launched::SignalGroup(int signal) const { kill(-pid_, signal); }

void Launched::CloseOutput() {
  if (output_ >= 0) close(output_);
  output_ = -1;
}

int Launched::AwaitEnd() {
  const absl::Time deadline = MonotonicNow() + kPatience;
  while (ReadSome(deadline)) {
  }
  return AwaitEndUnread();
}

int Launched::AwaitEndUnread() {
  const absl::Time deadline = MonotonicNow() + kPatience;
  int state = 0;
  pid_t ended = 0;
  while ((ended = waitpid(pid_, &state, WNOHANG)) == 0 && MonotonicNow() < deadline)
    absl::SleepFor(absl::Milliseconds(2));
  if (ended != pid_) return -1;
  ended_ = true;
  return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}

bool Launched::NothingIsLeft(absl::Duration patience) {
  const absl::Time deadline = MonotonicNow() + patience;
  pid_t orphan = 0;
  while ((orphan = waitpid(-1, nullptr, WNOHANG)) >= 0 || errno == EINTR) {
    if (MonotonicNow() > deadline) return false;
    if (orphan == 0) absl::SleepFor(absl::Milliseconds(2));
  }
  return errno == ECHILD;
}

std::vector<std::string> Launched::Lines() const {
  std::vector<std::string> lines = absl::StrSplit(text_, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

bool Launched::ReadSome(absl::Time deadline) {
  pollfd ready = {.fd = output_, .events = POLLIN};
  const absl::Duration left = std::max(deadline - MonotonicNow(), absl::ZeroDuration());
  if (poll(&ready, 1, static_cast<int>(absl::ToInt64Milliseconds(left))) <= 0) return false;
  char buffer[65536];
  const ssize_t got = read(output_, buffer, sizeof(buffer));
  if (got <= 0) return false;
  text_.append(buffer, got);
  return true;
}

}  // namespace weir
