#include "tools/launch/launcher.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "core/clock.h"
#include "distribute/cluster/environment.h"
#include "tools/launch/descendants.h"

namespace weir {
namespace {

constexpr absl::Duration kRestartPause = absl::Milliseconds(100);
constexpr absl::Duration kKillTimeout = absl::Seconds(5);
constexpr int kColors[] = {32, 36, 33, 35, 34, 31};
constexpr size_t kReadBytes = 64 << 10;
constexpr int kReadsOfAPipe = 16;
constexpr int kLostLog = -2;
constexpr char kBoardVariable[] = "WEIR_LOGDIR=";

bool IsColored(int fd) {
  const char* const term = std::getenv("TERM");
  const char* const no_color = std::getenv("NO_COLOR");
  return isatty(fd) != 0 && (no_color == nullptr || *no_color == '\0') &&
         (term != nullptr && absl::string_view(term) != "dumb");
}

std::string DescribeEnd(int code) {
  if (code <= 128) return absl::StrCat("ended with exit code ", code);
  return absl::StrCat("was ended by signal ", code - 128, " (", strsignal(code - 128), ")");
}

}  // namespace

Launcher::Launcher(Options options, const std::vector<LaunchTask>& tasks, const GuardedProcess& process)
    : options_(std::move(options)), guarded_(process) {
  const sigset_t signals = WatchedSignals();
  signals_ = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  for (const LaunchTask& what : tasks) {
    auto task = std::make_unique<Task>();
    task->what = what;
    task->name = absl::StrCat(what.job, " ", what.index);
    task->number = static_cast<int>(tasks_.size());
    task->restarts_left = options_.restarts;
    task->start_at = absl::InfinitePast();
    name_width_ = std::max(name_width_, task->name.size());
    tasks_.push_back(std::move(task));
  }
  colored_[0] = IsColored(STDOUT_FILENO);
  colored_[1] = IsColored(STDERR_FILENO);
}

Launcher::~Launcher() {
  for (const auto& task : tasks_) {
    if (task->log >= 0) close(task->log);
  }
  if (signals_ >= 0) close(signals_);
}

int Launcher::Run() {
  if (signals_ < 0) {
    Say(absl::StrCat("cannot wait for signals: ", std::strerror(errno)));
    code_ = 1;
  }
  while (signals_ >= 0 && !AllEnded()) Turn();
  KillDescendants({}, kKillTimeout);
  if (!guarded_.IsAlone()) Flush();
  if (!output_.empty() && !code_.has_value()) code_ = 1;
  return code_.value_or(0);
}

bool Launcher::AllEnded() const {
  return std::all_of(tasks_.begin(), tasks_.end(), [](const auto& task) { return task->ended; });
}

bool Launcher::WorkIsDone() const {
  return std::all_of(tasks_.begin(), tasks_.end(),
                     [](const auto& task) { return task->ended || !task->what.ends_by_itself; });
}

void Launcher::Turn() {
  for (const auto& task : tasks_) {
    if (!task->ended && task->start_at <= MonotonicNow()) Start(*task);
  }
  if (AllEnded()) return;
  // Polls signals, output, and then the tasks' open pipes; poll() limits the number of entries to the file limit.
  std::vector<pollfd> files = {{.fd = signals_, .events = POLLIN}, {.fd = output_.fd(), .events = POLLOUT}};
  std::vector<std::pair<Task*, int>> pipes;
  for (const auto& task : tasks_) {
    for (int which = 0; which < 2; ++which) {
      if (output_.full() || task->process.pipe(which) < 0) continue;
      files.push_back({.fd = task->process.pipe(which), .events = POLLIN});
      pipes.emplace_back(task.get(), which);
    }
  }
  Wait(&files);
  if (files[1].revents != 0) WriteOutput();
  for (size_t i = 0; i < pipes.size(); ++i) {
    if (files[i + 2].revents != 0) Read(*pipes[i].first, pipes[i].second);
  }
  // Reports the end of a task after its output.
  if (files[0].revents != 0) TakeSignals();
  if (MonotonicNow() >= kill_at_) {
    kill_at_ = absl::InfiniteFuture();
    Say(absl::StrCat("tasks are still running after ", absl::FormatDuration(options_.grace), "; killing them"));
    SignalAll(SIGKILL);
  }
}

void Launcher::Wait(std::vector<pollfd>* files) {
  const absl::Time deadline = NextDeadline();
  timespec left = absl::ToTimespec(std::max(absl::ZeroDuration(), deadline - MonotonicNow()));
  if (ppoll(files->data(), files->size(), deadline == absl::InfiniteFuture() ? nullptr : &left, nullptr) >= 0) return;
  if (errno != EINTR) {
    Say(absl::StrCat("cannot wait for the tasks: ", std::strerror(errno)));
    if (!code_.has_value()) code_ = 1;
    for (const auto& task : tasks_) task->ended = true;  // Run kills them
  }
  for (pollfd& file : *files) file.revents = 0;
}

absl::Time Launcher::NextDeadline() const {
  absl::Time next = kill_at_;
  for (const auto& task : tasks_) {
    if (!task->ended) next = std::min(next, task->start_at);
  }
  return next;
}

absl::Status Launcher::OpenLog(Task& task) {
  if (options_.log_directory.empty() || task.log != -1) return absl::OkStatus();
  const std::string path = absl::StrCat(options_.log_directory, "/", task.what.job, "-", task.what.index, ".log");
  task.log = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (task.log < 0) return errors::Unavailable("--log-dir: ", path, ": ", std::strerror(errno));
  return absl::OkStatus();
}

std::vector<std::string> Launcher::EnvironmentOf(const Task& task) const {
  std::vector<std::string> variables = EnvironmentWith("TF_CONFIG", task.what.tf_config);
  if (options_.board_directory.empty()) return variables;
  std::erase_if(variables, [](const std::string& variable) { return absl::StartsWith(variable, kBoardVariable); });
  variables.push_back(absl::StrCat(kBoardVariable, options_.board_directory));
  return variables;
}

void Launcher::Start(Task& task) {
  task.start_at = absl::InfiniteFuture();
  absl::Status status = OpenLog(task);
  if (status.ok()) status = task.process.Start(options_.command, EnvironmentOf(task));
  if (status.ok()) return;
  Say(absl::StrCat(task.name, " cannot start: ", status.message()));
  task.restarts_left = 0;
  TaskFailed(task, 1);
}

void Launcher::TakeSignals() {
  signalfd_siginfo info;
  while (read(signals_, &info, sizeof(info)) == sizeof(info)) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD) continue;
    // Without the outer process there is no grace period. The exit codes of tasks that are being stopped are ignored.
    const bool kills = std::exchange(signalled_, true) || guarded_.IsAlone();
    if (!stopping_ && !guarded_.IsAlone() && !code_.has_value()) code_ = 128 + signal;
    Stop(kills ? SIGKILL : signal);
  }
  ReapChildren();
}

void Launcher::ReapChildren() {
  while (true) {
    siginfo_t info = {};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
    const auto found = std::find_if(tasks_.begin(), tasks_.end(),
                                    [&](const auto& task) { return task->process.pid() == info.si_pid; });
    if (found != tasks_.end()) {
      TaskEnded(**found);
    } else {
      waitpid(info.si_pid, nullptr, 0);  // an adopted orphan
    }
  }
}

void Launcher::TaskEnded(Task& task) {
  const int code = task.process.Reap();
  for (int which = 0; which < 2; ++which) {
    // At most as much as a pipe holds: a process that has left the task's group may keep writing.
    for (int i = 0; i < kReadsOfAPipe && task.process.pipe(which) >= 0; ++i) Read(task, which);
    task.lines[which].Finish([&](absl::string_view line) { Print(task, which, line); });
  }
  task.process.ClosePipes();
  if (stopping_) {
    task.ended = true;
  } else if (code != 0) {
    TaskFailed(task, code);
  } else {
    task.ended = true;
    if (WorkIsDone()) Stop(SIGTERM);
  }
}

void Launcher::TaskFailed(Task& task, int code) {
  if (task.restarts_left > 0 && !stopping_) {
    --task.restarts_left;
    Say(absl::StrCat(task.name, " ", DescribeEnd(code), "; restarting it"));
    task.start_at = MonotonicNow() + kRestartPause;
    return;
  }
  task.ended = true;
  if (stopping_) return;
  if (!code_.has_value()) code_ = code;
  const bool alone = AllEnded();
  Say(absl::StrCat(task.name, " ", DescribeEnd(code),
                   options_.keep_going || alone ? "" : "; stopping the other tasks"));
  if (!options_.keep_going || WorkIsDone()) Stop(SIGTERM);
}

void Launcher::Read(Task& task, int which) {
  char buffer[kReadBytes];
  const ssize_t got = read(task.process.pipe(which), buffer, sizeof(buffer));
  if (got < 0 && errno == EINTR) return;
  if (got <= 0) {
    if (got == 0 || errno != EAGAIN || task.process.pid() < 0) task.process.ClosePipe(which);
    return;
  }
  task.lines[which].Append(absl::string_view(buffer, got), [&](absl::string_view line) { Print(task, which, line); });
}

void Launcher::Print(Task& task, int which, absl::string_view line) {
  const std::string label = absl::StrFormat("%-*s", name_width_ + 2, absl::StrCat("[", task.name, "]"));
  const int color = kColors[task.number % std::size(kColors)];
  output_.Add(which == 0 ? STDOUT_FILENO : STDERR_FILENO,
              colored_[which] ? absl::StrCat("\x1b[", color, "m", label, "\x1b[0m ", line, "\n")
                              : absl::StrCat(label, " ", line, "\n"));
  WriteLog(task, absl::StrCat(line, "\n"));
}

void Launcher::WriteLog(Task& task, absl::string_view text) {
  while (task.log >= 0 && !text.empty()) {
    const ssize_t size = write(task.log, text.data(), text.size());
    if (size >= 0) {
      text.remove_prefix(size);
    } else if (errno != EINTR) {
      Say(absl::StrCat("the log of ", task.name, " ends here: ", std::strerror(errno)));
      close(std::exchange(task.log, kLostLog));
    }
  }
}

void Launcher::Say(absl::string_view text) { output_.Add(STDERR_FILENO, absl::StrCat("weir launch: ", text, "\n")); }

void Launcher::WriteOutput() {
  const int fd = output_.fd();
  const int error = output_.Write();
  if (error == 0) return;
  // The reader is gone; exit like a program killed by SIGPIPE.
  if (!code_.has_value()) code_ = error == EPIPE ? 128 + SIGPIPE : 1;
  Say(absl::StrCat("cannot write to file ", fd, ": ", std::strerror(error)));
  if (!stopping_) Stop(SIGTERM);
}

void Launcher::Flush() {
  while (!output_.empty()) {
    pollfd files[] = {{.fd = signals_, .events = POLLIN}, {.fd = output_.fd(), .events = POLLOUT}};
    const timespec patience = absl::ToTimespec(options_.grace);
    if (ppoll(files, std::size(files), &patience, nullptr) == 0) return;
    signalfd_siginfo info;
    while (files[0].revents != 0 && read(signals_, &info, sizeof(info)) == sizeof(info)) {
      if (info.ssi_signo == SIGCHLD) continue;
      if (!code_.has_value()) code_ = 128 + static_cast<int>(info.ssi_signo);
      return;  // a second signal: do not wait for the rest
    }
    if (files[1].revents != 0) WriteOutput();
  }
}

void Launcher::Stop(int signal) {
  const bool again = std::exchange(stopping_, true);
  for (const auto& task : tasks_) {
    if (task->process.pid() < 0) task->ended = true;  // it was waiting to be restarted
  }
  if (!again) kill_at_ = MonotonicNow() + options_.grace;
  SignalAll(signal);
}

void Launcher::SignalAll(int signal) {
  for (const auto& task : tasks_) task->process.Signal(signal);
}

}  // namespace weir
