#include "distribute/cluster/server_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/clock.h"
#include "core/process_stat.h"

namespace weir {
namespace {

constexpr absl::Duration kRestartPause = absl::Milliseconds(100);
constexpr absl::Duration kReadyPoll = absl::Milliseconds(5);
constexpr size_t kQuotedLogBytes = 2000;

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

// After fork, the child may call only async-signal-safe functions.
[[noreturn]] void RunChild(pid_t parent, const char* log_file, char** arguments, char** environment) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int log = open(log_file, O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (log >= 0) {
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    if (log > STDERR_FILENO) close(log);
  }
  execve(arguments[0], arguments, environment);
  _exit(127);
}

int ExitCode(int state) { return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state); }

std::chrono::steady_clock::time_point After(absl::Duration duration) {
  return std::chrono::steady_clock::now() + absl::ToChronoMilliseconds(duration);
}

}  // namespace

ServerProcess::ServerProcess(Options options) : options_(std::move(options)), supervisor_([this] { Supervise(); }) {}

ServerProcess::~ServerProcess() {
  {
    MutexLock lock(mu_);
    finished_ = true;
    wanted_ = false;
    KillLocked();
  }
  changed_.notify_all();
  supervisor_.join();
}

absl::Status ServerProcess::Launch() {
  MutexLock lock(mu_);
  if (wanted_ || pid_ > 0) return errors::FailedPrecondition(options_.name, " is running");
  const int before = ends_;
  wanted_ = true;
  changed_.notify_all();
  while (pid_ < 0 && ends_ == before) lock.Wait(changed_);
  return absl::OkStatus();
}

void ServerProcess::Supervise() {
  while (AwaitWanted()) RunOnce();
}

bool ServerProcess::AwaitWanted() {
  MutexLock lock(mu_);
  while (!wanted_ && !finished_) lock.Wait(changed_);
  return !finished_;
}

void ServerProcess::RunOnce() {
  pid_t child;
  {
    MutexLock lock(mu_);
    if (!wanted_) return;
    child = Spawn();
    pid_ = child;
  }
  changed_.notify_all();
  // Does not reap the child, so that its pid stays valid until pid_ is cleared.
  siginfo_t info;
  while (child > 0 && waitid(P_PID, child, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  MutexLock lock(mu_);
  exit_state_ = 127 << 8;  // no process: the same status as if the program could not be executed
  if (child > 0) waitpid(child, &exit_state_, 0);
  pid_ = -1;
  ++ends_;
  if (!options_.restart) wanted_ = false;
  changed_.notify_all();
  const auto resume = After(kRestartPause);
  while (wanted_ && lock.WaitUntil(changed_, resume) == std::cv_status::no_timeout) {
  }
}

pid_t ServerProcess::Spawn() const {
  unlink(options_.ready_file.c_str());
  std::vector<std::string> arguments = options_.arguments, environment = options_.environment;
  const std::vector<char*> argv = Pointers(arguments), envp = Pointers(environment);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    RunChild(parent, options_.log_file.c_str(), const_cast<char**>(argv.data()), const_cast<char**>(envp.data()));
  }
  return child;
}

absl::Status ServerProcess::AwaitReady(absl::Duration timeout) {
  const absl::Time deadline = MonotonicNow() + timeout;
  MutexLock lock(mu_);
  const int before = ends_;
  while (access(options_.ready_file.c_str(), F_OK) != 0) {
    if (pid_ < 0 || ends_ != before) {
      return errors::FailedPrecondition(options_.name, " ended before it served:\n", LogTail());
    }
    if (MonotonicNow() > deadline) return errors::DeadlineExceeded(options_.name, " does not serve:\n", LogTail());
    lock.WaitUntil(changed_, After(kReadyPoll));
  }
  return absl::OkStatus();
}

pid_t ServerProcess::pid() const {
  MutexLock lock(mu_);
  return pid_;
}

void ServerProcess::Signal(int signal) {
  MutexLock lock(mu_);
  if (pid_ > 0) kill(pid_, signal);
}

bool ServerProcess::IsStopped() const {
  std::error_code error;
  const std::filesystem::path tasks = absl::StrCat("/proc/", pid(), "/task");
  for (std::filesystem::directory_iterator task(tasks, error), end; !error && task != end; task.increment(error)) {
    const std::optional<ProcessStat> stat = ReadProcessStat(task->path());
    if (!stat || stat->state != 'T') return false;
  }
  return !error;
}

void ServerProcess::KillLocked() {
  if (pid_ <= 0) return;
  kill(-pid_, SIGKILL);
  kill(pid_, SIGKILL);  // the child may not have its own process group yet
}

pid_t ServerProcess::Kill() {
  MutexLock lock(mu_);
  const pid_t killed = pid_;
  const int before = ends_;
  KillLocked();
  while (killed > 0 && ends_ == before) lock.Wait(changed_);
  return killed;
}

absl::StatusOr<int> ServerProcess::Terminate(absl::Duration timeout) {
  MutexLock lock(mu_);
  wanted_ = false;
  changed_.notify_all();
  if (pid_ < 0) return errors::FailedPrecondition(options_.name, " is not running");
  const int before = ends_;
  kill(pid_, SIGTERM);
  const auto deadline = After(timeout);
  bool late = false;
  while (ends_ == before) {
    if (late) {
      lock.Wait(changed_);
    } else if (lock.WaitUntil(changed_, deadline) == std::cv_status::timeout && ends_ == before) {
      late = true;
      KillLocked();
    }
  }
  if (late) return errors::DeadlineExceeded(options_.name, " did not end in ", absl::FormatDuration(timeout));
  return ExitCode(exit_state_);
}

std::string ServerProcess::Log() const {
  std::ifstream file(options_.log_file);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string ServerProcess::LogTail() const {
  const std::string log = Log();
  return log.size() > kQuotedLogBytes ? log.substr(log.size() - kQuotedLogBytes) : log;
}

}  // namespace weir
