#include "tests/chaos/job_run.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/checkpoint/bundle_reader.h"
#include "core/clock.h"
#include "core/files/file_system.h"
#include "distribute/cluster/environment.h"
#include "distribute/transport/request_log.h"
#include "master/journal/journal_file.h"
#include "master/journal/session_journal.h"
#include "tests/chaos/job.h"

namespace weir::chaos {
namespace {

constexpr size_t kQuotedLog = 3000, kQuotedLine = 300;

}  // namespace

std::map<std::string, int> JobCluster::Jobs() { return {{"master", 1}, {"ps", kServers}, {"worker", kWorkers}}; }

int JobCluster::HostOf(const std::string& job, int index) {
  return job == "master" ? 1 : job == "ps" ? 2 + index : 2 + kServers + index;
}

absl::StatusOr<std::unique_ptr<JobCluster>> JobCluster::Start(const std::string& weir, const std::string& directory,
                                                              const EmulatedNetwork* network,
                                                              const std::vector<std::string>& flags) {
  std::unique_ptr<JobCluster> cluster(new JobCluster(directory));
  ProcessCluster::Options options{.program = weir,
                                  .jobs = Jobs(),
                                  .flags = {"--deterministic", "--journal", cluster->journals_},
                                  .directory = directory};
  options.flags.insert(options.flags.end(), flags.begin(), flags.end());
  if (network != nullptr) {
    // Hosts of their own share no memory.
    options.flags.insert(options.flags.end(), {"--no-shared-memory", "--insecure"});
    options.place = [network](const std::string& job, int index) { return network->PlaceOf(HostOf(job, index)); };
  }
  ASSIGN_OR_RETURN(cluster->tasks_, ProcessCluster::Start(std::move(options)));
  return cluster;
}

JobCluster::~JobCluster() {
  tasks_.reset();
  for (const auto& [job, count] : Jobs()) {
    for (int index = 0; index < count; ++index) {
      auto file = JournalFile::Open(journals_, absl::StrCat(job, "-", index));
      if (!file.ok()) continue;
      const auto journal =
          SessionJournal::Open(*std::move(file), {.task = absl::StrCat("/job:", job, "/replica:0/task:", index)});
      if (journal.ok()) unlink(RequestLog::PathFor((*journal)->id()).c_str());
    }
  }
}

absl::StatusOr<std::unique_ptr<JobRun>> JobRun::Start(ChiefOptions options) {
  std::unique_ptr<JobRun> run(new JobRun(std::move(options)));
  const std::string& directory = run->options_.directory;
  std::filesystem::create_directories(directory);
  const std::string pipe = directory + "/progress";
  if (mkfifo(pipe.c_str(), 0600) != 0) return errors::Internal("cannot create the pipe ", pipe);
  // Also for writing: it then has no end when the chief dies.
  run->pipe_ = open(pipe.c_str(), O_RDWR | O_CLOEXEC);
  if (run->pipe_ < 0) return errors::Internal("cannot open the pipe ", pipe);
  std::vector<std::string> arguments = {"/proc/self/exe",
                                        "chief",
                                        "--target",
                                        run->options_.target,
                                        "--directory",
                                        directory,
                                        "--steps",
                                        std::to_string(run->options_.steps),
                                        "--checkpoint-steps",
                                        std::to_string(run->options_.checkpoint_steps)};
  if (run->options_.background) arguments.push_back("--background");
  run->chief_ =
      std::make_unique<ServerProcess>(ServerProcess::Options{.name = "the chief",
                                                             .arguments = std::move(arguments),
                                                             .environment = EnvironmentWith("TF_CONFIG", std::nullopt),
                                                             .ready_file = directory + "/ready",
                                                             .log_file = directory + "/chief.log"});
  RETURN_IF_ERROR(run->LaunchChief());
  return run;
}

JobRun::~JobRun() {
  if (pipe_ >= 0) close(pipe_);
}

absl::Status JobRun::Failed(const std::string& what) const {
  const std::string log = chief_->Log();
  return errors::Internal(what, "; the end of ", options_.directory, "/chief.log:\n",
                          log.substr(log.size() - std::min(log.size(), kQuotedLog)));
}

absl::StatusOr<Progress> JobRun::Next(absl::Duration patience) {
  constexpr absl::Duration kLook = absl::Milliseconds(200);
  const absl::Time deadline = MonotonicNow() + patience;
  while (true) {
    // Before the pipe is read: a chief that ends has sent its messages.
    const bool ended = chief_->pid() < 0;
    pollfd readable{.fd = pipe_, .events = POLLIN};
    const absl::Duration wait = ended ? absl::ZeroDuration() : kLook;
    if (poll(&readable, 1, static_cast<int>(absl::ToInt64Milliseconds(wait))) > 0) {
      Progress message;
      if (read(pipe_, &message, sizeof(message)) != sizeof(message)) return Failed("the pipe is broken");
      return message;
    }
    if (ended) return Failed("The chief failed");
    if (MonotonicNow() > deadline) {
      return Failed(absl::StrCat("The chief makes no progress for ", absl::FormatDuration(patience)));
    }
  }
}

absl::Status JobRun::Drain() {
  pollfd readable{.fd = pipe_, .events = POLLIN};
  Progress message;
  while (poll(&readable, 1, 0) > 0) {
    if (read(pipe_, &message, sizeof(message)) != sizeof(message)) return Failed("the pipe is broken");
  }
  return absl::OkStatus();
}

absl::Status JobRun::KillChief() {
  chief_->Kill();
  return Drain();
}

absl::StatusOr<std::string> JobRun::Result() const {
  const std::unique_ptr<FileSystem> files = NewPosixFileSystem();
  ASSIGN_OR_RETURN(const std::unique_ptr<BundleReader> reader,
                   BundleReader::Open(files.get(), absl::StrCat(checkpoints(), "/model.ckpt-", options_.steps)));
  std::string result;
  for (const BundleReader::Info& entry : reader->List()) {
    ASSIGN_OR_RETURN(const Tensor tensor, reader->Read(entry.name));
    const absl::string_view bytes(static_cast<const char*>(tensor.raw_data()),
                                  static_cast<size_t>(tensor.TotalBytes()));
    absl::StrAppend(&result, entry.name, " ", DataTypeName(entry.dtype), " ", entry.shape.ToString(), " ",
                    absl::BytesToHexString(bytes), "\n");
  }
  return result;
}

std::string Difference(const std::string& expected, const std::string& actual) {
  const std::vector<std::string> wanted = absl::StrSplit(expected, '\n'), got = absl::StrSplit(actual, '\n');
  for (size_t i = 0; i < std::max(wanted.size(), got.size()); ++i) {
    const std::string left = i < wanted.size() ? wanted[i] : "(nothing)", right = i < got.size() ? got[i] : "(nothing)";
    if (left != right)
      return absl::StrCat("expected ", left.substr(0, kQuotedLine), ", got ", right.substr(0, kQuotedLine));
  }
  return "";
}

}  // namespace weir::chaos
