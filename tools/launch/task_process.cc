#include "tools/launch/task_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace weir {
namespace {

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Resets signal handling to what a shell's child expects; signals that the launcher was started to ignore stay ignored.
void ResetSignals() {
  for (const int signal : {SIGPIPE, SIGXFSZ, SIGTTOU, SIGCHLD}) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Runs after a fork of a single-threaded process.
[[noreturn]] void RunChild(pid_t parent, int out, int err, char** arguments, char** environment) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  const int null = open("/dev/null", O_RDONLY);
  dup2(null, STDIN_FILENO);
  if (null > STDERR_FILENO) close(null);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  ResetSignals();
  execvpe(arguments[0], arguments, environment);
  const int error = errno;
  dprintf(STDERR_FILENO, "weir launch: cannot run '%s': %s\n", arguments[0], strerror(error));
  _exit(error == ENOENT || error == ENOTDIR ? 127 : 126);
}

// Duplicates `fd` to a number above standard error: a launcher whose own output is closed would get lower ones.
int AboveStandard(int fd) {
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  const int above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  close(fd);
  return above;
}

absl::Status MakePipe(int* read_end, int* write_end) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return errors::Unavailable("pipe: ", std::strerror(errno));
  *read_end = AboveStandard(fds[0]);
  *write_end = AboveStandard(fds[1]);
  if (*read_end < 0 || *write_end < 0) return errors::Unavailable("pipe: ", std::strerror(errno));
  fcntl(*read_end, F_SETFL, O_NONBLOCK);
  return absl::OkStatus();
}

}  // namespace

absl::Status TaskProcess::Start(const std::vector<std::string>& command, const std::vector<std::string>& environment) {
  ClosePipes();
  int out = -1, err = -1;
  absl::Status status = MakePipe(&pipes_[0], &out);
  status.Update(MakePipe(&pipes_[1], &err));
  if (status.ok()) {
    const std::vector<char*> arguments = Pointers(command), variables = Pointers(environment);
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ == 0)
      RunChild(parent, out, err, const_cast<char**>(arguments.data()), const_cast<char**>(variables.data()));
    if (pid_ < 0) status = errors::Unavailable("fork: ", std::strerror(errno));
    if (pid_ > 0) setpgid(pid_, pid_);  // also here: the group may get a signal early
  }
  if (out >= 0) close(out);
  if (err >= 0) close(err);
  if (!status.ok()) ClosePipes();
  return status;
}

void TaskProcess::Signal(int signal) const {
  if (pid_ > 0) kill(-pid_, signal);
}

int TaskProcess::Reap() {
  // The number stays the group's until the process has been waited for.
  Signal(SIGKILL);
  int state = 0;
  while (waitpid(pid_, &state, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}

void TaskProcess::ClosePipe(int which) {
  if (pipes_[which] >= 0) close(pipes_[which]);
  pipes_[which] = -1;
}

void TaskProcess::ClosePipes() {
  ClosePipe(0);
  ClosePipe(1);
}

}  // namespace weir
