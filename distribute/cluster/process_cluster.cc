#include "distribute/cluster/process_cluster.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

#include "absl/time/clock.h"
#include "core/clock.h"
#include "core/logging.h"
#include "distribute/cluster/cluster_json.h"
#include "distribute/cluster/environment.h"
#include "distribute/cluster/tf_config.h"

namespace weir {
namespace {

absl::Status SystemError(absl::string_view what) {
  return errors::Internal(what, ": ", std::string(std::strerror(errno)));
}

}  // namespace

ProcessCluster::ProcessCluster(Options options) : options_(std::move(options)), directory_(options_.directory) {}

ProcessCluster::~ProcessCluster() {
  for (Task& task : tasks_) task.process.reset();
  std::error_code ignored;
  if (options_.directory.empty() && !directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

absl::StatusOr<std::unique_ptr<ProcessCluster>> ProcessCluster::Start(Options options) {
  std::unique_ptr<ProcessCluster> cluster(new ProcessCluster(std::move(options)));
  RETURN_IF_ERROR(cluster->MakeDirectory());
  RETURN_IF_ERROR(cluster->PlaceTasks());
  for (Task& task : cluster->tasks_) {
    task.process = std::make_unique<ServerProcess>(
        ServerProcess::Options{.name = absl::StrCat("Task ", task.index, " of job '", task.job, "'"),
                               .arguments = cluster->Arguments(task),
                               .environment = cluster->Environment(task),
                               .ready_file = cluster->PathOf(task, "ready"),
                               .log_file = cluster->PathOf(task, "log"),
                               .restart = cluster->options_.restart});
    RETURN_IF_ERROR(task.process->Launch());
  }
  for (const Task& task : cluster->tasks_) {
    RETURN_IF_ERROR(task.process->AwaitReady(cluster->options_.start_timeout));
  }
  return cluster;
}

absl::Status ProcessCluster::MakeDirectory() {
  if (!directory_.empty()) return absl::OkStatus();
  std::string path = (std::filesystem::temp_directory_path() / "weir-cluster-XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr) return SystemError("mkdtemp");
  directory_ = path;
  return absl::OkStatus();
}

absl::Status ProcessCluster::PlaceTasks() {
  for (const auto& [job, count] : options_.jobs) {
    for (int index = 0; index < count; ++index) {
      Task& task = tasks_.emplace_back();
      task.job = job;
      task.index = index;
      if (options_.place) {
        task.place = options_.place(job, index);
      } else {
        ASSIGN_OR_RETURN(task.port, ReservedPort::Create());
        task.place.address = task.port->address();
      }
      RETURN_IF_ERROR(spec_.AddTask(job, index, task.place.address));
    }
  }
  return absl::OkStatus();
}

std::string ProcessCluster::PathOf(const Task& task, absl::string_view suffix) const {
  return absl::StrCat(directory_, "/", task.job, "-", task.index, ".", suffix);
}

std::vector<std::string> ProcessCluster::Arguments(const Task& task) const {
  std::vector<std::string> arguments = task.place.prefix;
  arguments.insert(arguments.end(), {options_.program, "server", "--ready-file", PathOf(task, "ready")});
  if (!options_.use_tf_config) {
    arguments.insert(arguments.end(), {"--job", task.job, "--index", std::to_string(task.index), "--cluster",
                                       ClusterToJson(spec_).dump()});
  }
  arguments.insert(arguments.end(), options_.flags.begin(), options_.flags.end());
  return arguments;
}

std::vector<std::string> ProcessCluster::Environment(const Task& task) const {
  std::vector<std::string> environment = options_.environment;  // the first of a name counts
  const std::vector<std::string> inherited =
      options_.use_tf_config ? EnvironmentWith("TF_CONFIG", TfConfigJson({spec_, task.job, task.index}))
                             : EnvironmentWith("TF_CONFIG", std::nullopt);
  environment.insert(environment.end(), inherited.begin(), inherited.end());
  return environment;
}

const ProcessCluster::Task& ProcessCluster::Find(const std::string& job, int index) const {
  for (const Task& task : tasks_) {
    if (task.job == job && task.index == index) return task;
  }
  std::fprintf(stderr, "The cluster has no task /job:%s/task:%d\n", job.c_str(), index);
  std::abort();
}

std::string ProcessCluster::Target(const std::string& job, int index) const {
  return absl::StrCat("grpc://", Find(job, index).place.address);
}

std::string ProcessCluster::Log(const std::string& job, int index) const { return Find(job, index).process->Log(); }

pid_t ProcessCluster::pid(const std::string& job, int index) const { return Find(job, index).process->pid(); }

pid_t ProcessCluster::Kill(const std::string& job, int index) { return Find(job, index).process->Kill(); }

void ProcessCluster::Pause(const std::string& job, int index) {
  ServerProcess& process = *Find(job, index).process;
  process.Signal(SIGSTOP);
  // The process's threads stop only once each has seen the signal.
  for (const absl::Time end = MonotonicNow() + absl::Seconds(5); !process.IsStopped();) {
    if (MonotonicNow() > end) {
      WEIR_LOG(ERROR).With("task", TaskName(job, index)) << "the process does not stop on SIGSTOP; going on without";
      return;
    }
    absl::SleepFor(absl::Milliseconds(1));
  }
}

void ProcessCluster::Resume(const std::string& job, int index) { Find(job, index).process->Signal(SIGCONT); }

absl::StatusOr<int> ProcessCluster::Terminate(const std::string& job, int index, absl::Duration timeout) {
  return Find(job, index).process->Terminate(timeout);
}

absl::Status ProcessCluster::Restart(const std::string& job, int index) {
  ServerProcess& process = *Find(job, index).process;
  RETURN_IF_ERROR(process.Launch());
  return process.AwaitReady(options_.start_timeout);
}

void ProcessCluster::Stop(absl::Duration patience) {
  std::vector<std::thread> threads;
  for (const Task& task : tasks_) {
    threads.emplace_back([&task, patience] { task.process->Terminate(patience).status().IgnoreError(); });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace weir
