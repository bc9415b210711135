#include "tests/watch/program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "core/clock.h"

extern char** environ;

namespace weir {
namespace {

// Reads until the pipe is closed or the time comes; returns whether it is closed.
bool ReadUntil(int pipe, absl::Time time, std::string* output) {
  char buffer[4096];
  while (true) {
    const absl::Duration left = std::min(time - MonotonicNow(), absl::Minutes(10));
    if (left <= absl::ZeroDuration()) return false;
    pollfd file = {.fd = pipe, .events = POLLIN};
    if (poll(&file, 1, static_cast<int>(absl::ToInt64Milliseconds(left)) + 1) <= 0) continue;
    const ssize_t got = read(pipe, buffer, sizeof(buffer));
    if (got <= 0) return true;
    output->append(buffer, static_cast<size_t>(got));
  }
}

// Reads some output; false if there is none in time.
bool ReadOnce(int pipe, absl::Time time, std::string* output) {
  pollfd file = {.fd = pipe, .events = POLLIN};
  const absl::Duration left = time - MonotonicNow();
  if (poll(&file, 1, static_cast<int>(absl::ToInt64Milliseconds(left))) <= 0) return false;
  char buffer[4096];
  const ssize_t got = read(pipe, buffer, sizeof(buffer));
  if (got > 0) output->append(buffer, static_cast<size_t>(got));
  return got > 0;
}

}  // namespace

ProgramResult RunProgram(const std::vector<std::string>& arguments, bool interrupt) {
  ProgramResult result;
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return result;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t child = -1;
  const int error = posix_spawnp(&child, argv[0], &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error == 0) {
    const absl::Time end = MonotonicNow() + absl::Minutes(2);
    if (interrupt && ReadOnce(ends[0], end, &result.output)) kill(child, SIGINT);
    const bool closed = ReadUntil(ends[0], end, &result.output);
    // Also what it has started: a browser has many processes.
    if (!closed) kill(-child, SIGKILL);
    int state = 0;
    waitpid(child, &state, 0);
    kill(-child, SIGKILL);
    result.code = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
  }
  close(ends[0]);
  return result;
}

}  // namespace weir
