#include "tools/server_command.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/strip.h"
#include "core/clock.h"
#include "core/files/file_system.h"
#include "core/gpu/gpu_devices.h"
#include "core/gpu/simulated_platform.h"
#include "core/logging.h"
#include "core/memory/freed_memory.h"
#include "core/proto_text.h"
#include "distribute/cluster/address.h"
#include "distribute/cluster/cluster_resolver.h"
#include "graph/passes/determinism.h"
#include "kernels/plugin.h"
#include "tensorflow/core/protobuf/config.pb.h"
#include "tools/server.h"
#include "tools/service_notification.h"
#include "tools/variables/automatic_balance.h"
#include "tools/variables/standby_keeper.h"
#include "tools/variables/variable_share.h"

namespace weir {
namespace {

constexpr absl::string_view kAuto = "auto";
constexpr absl::Duration kPatience = absl::Seconds(2);
constexpr absl::Duration kShortestLease = absl::Milliseconds(100);
// For kernels that ignore the cancellation of their step.
constexpr absl::Duration kStopLimit = absl::Seconds(6);
constexpr absl::Duration kLimit = absl::Seconds(10);
// For a parameter server that joined, to move its variables away.
constexpr absl::Duration kHandOverLimit = absl::Seconds(60);
constexpr int kStoppedAnyway = 3;

// Includes SIGHUP, for a closed terminal, unless it is ignored, as by nohup.
sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  struct sigaction action;
  if (sigaction(SIGHUP, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) sigaddset(&signals, SIGHUP);
  return signals;
}

int WaitForStopSignal() {
  const sigset_t signals = StopSignals();
  int signal = 0;
  while (sigwait(&signals, &signal) != 0) {
  }
  return signal;
}

// gRPC hangs if the system cannot create the threads that it starts with.
absl::Status CheckThreads() {
  constexpr int kFirstThreads = 16;
  std::atomic<bool> may_end{false};
  std::vector<std::thread> threads;
  absl::Status status;
  try {
    for (int i = 0; i < kFirstThreads; ++i) threads.emplace_back([&] { may_end.wait(false); });
  } catch (const std::system_error& error) {
    status = errors::ResourceExhausted("Only ", threads.size(), " threads can be created, but a server needs ",
                                       kFirstThreads, " (", error.what(), "): raise the limits (ulimit -a)");
  }
  may_end = true;
  may_end.notify_all();
  for (std::thread& thread : threads) thread.join();
  return status;
}

// Ends the process if an orderly shutdown takes longer than this, or on a second signal.
void StartWatchdog(absl::Duration limit) {
  const auto watch = [limit] {
    sigset_t signals = StopSignals();
    sigdelset(&signals, SIGHUP);  // a closing terminal sends it more than once
    const absl::Time deadline = MonotonicNow() + limit;
    int signal = 0;
    do {  // retried when interrupted by a debugger or SIGCONT
      timespec left = absl::ToTimespec(std::max(absl::ZeroDuration(), deadline - MonotonicNow()));
      signal = sigtimedwait(&signals, nullptr, &left);
    } while (signal < 0 && errno == EINTR);
    static constexpr char kAsked[] = "weir server: stopped immediately\n";
    static constexpr char kLate[] = "weir server: steps did not end in time; stopped anyway\n";
    [[maybe_unused]] const ssize_t written =
        signal > 0 ? write(2, kAsked, sizeof(kAsked) - 1) : write(2, kLate, sizeof(kLate) - 1);
    _exit(kStoppedAnyway);
  };
  try {
    std::thread(watch).detach();
  } catch (const std::system_error&) {  // no thread for it: the system then ends the process
    alarm(static_cast<unsigned>(absl::ToInt64Seconds(limit)));
  }
}

absl::StatusOr<Server::Options> OptionsFromEnvironment(const ServerCommand& command) {
  std::optional<ClusterSource> source;
  if (command.cluster_from != kAuto) {
    ASSIGN_OR_RETURN(source, ParseClusterSource(command.cluster_from));
  }
  absl::StatusOr<ResolvedCluster> resolved = ResolveCluster(command.environment, source);
  if (absl::IsNotFound(resolved.status())) {
    return errors::InvalidArgument("Pass --job, --index and --cluster, or set the environment variable TF_CONFIG. ",
                                   resolved.status().message());
  }
  RETURN_IF_ERROR(resolved.status());
  TfConfig& task = resolved->task;
  WEIR_LOG(INFO)
          .With("source", ClusterSourceName(resolved->source))
          .With("task", TaskName(task.task_type, task.task_index))
      << "read the cluster from the environment";
  return Server::Options{.cluster = std::move(task.cluster), .job = task.task_type, .index = task.task_index};
}

absl::Status ParseLease(absl::string_view flag, const std::string& text, absl::Duration* lease) {
  if (text.empty()) return absl::OkStatus();
  if (absl::ParseDuration(text, lease) && *lease >= kShortestLease) return absl::OkStatus();
  return errors::InvalidArgument(flag, " is a duration of at least ", absl::FormatDuration(kShortestLease),
                                 R"(, such as "90s", "30m" or "inf", not ")", text, "\"");
}

absl::StatusOr<Address> BindTo(const std::string& host, int port) {
  const bool ipv6 = host.find(':') != std::string::npos && host.front() != '[';
  return Address::Parse(absl::StrCat(ipv6 ? absl::StrCat("[", host, "]") : host, ":", port));
}

absl::StatusOr<std::string> HttpAddress(const ServerCommand& command) {
  if (command.http_port.has_value()) {
    ASSIGN_OR_RETURN(const Address address, BindTo(command.http_bind, *command.http_port));
    return address.ToString();
  }
  if (command.http_ready_file.empty()) return std::string();
  return errors::InvalidArgument("--http-ready-file needs --http-port");
}

absl::StatusOr<Server::Options> OptionsToJoin(const ServerCommand& command) {
  if (!command.cluster.empty() || command.cluster_from != kAuto) {
    return errors::InvalidArgument("--join gets the cluster from the task that it names: omit ",
                                   command.cluster.empty() ? "--cluster-from" : "--cluster");
  }
  if (command.job.empty()) return errors::InvalidArgument("--join needs --job");
  ASSIGN_OR_RETURN(const Address cluster, Address::Parse(absl::StripPrefix(command.join, "grpc://")));
  Server::Options options{.job = command.job, .index = command.index.value_or(Server::kNewTask)};
  options.join = cluster.ToString();
  if (!command.advertise.empty()) {
    const bool has_port = Address::Parse(command.advertise).ok();
    ASSIGN_OR_RETURN(const Address advertised,
                     has_port ? Address::Parse(command.advertise) : BindTo(command.advertise, 0));
    options.advertised_address = advertised.ToString();
  }
  return options;
}

absl::StatusOr<std::string> BindAddress(const ServerCommand& command, const Server::Options& options) {
  ASSIGN_OR_RETURN(Address address, Address::Parse("127.0.0.1:0"));  // of a task that joins
  if (options.join.empty()) {
    ASSIGN_OR_RETURN(const std::string own, options.cluster.AddressOf(options.job, options.index));
    ASSIGN_OR_RETURN(address, Address::Parse(own));
  }
  if (!command.bind.empty()) {
    ASSIGN_OR_RETURN(address, BindTo(command.bind, address.port()));
  }
  if (command.port.has_value()) address = address.WithPort(*command.port);
  return address.ToString();
}

absl::StatusOr<Server::Options> ServerOptions(const ServerCommand& command) {
  Server::Options options;
  if (command.join.empty() && !command.advertise.empty()) return errors::InvalidArgument("--advertise needs --join");
  if (!command.join.empty()) {
    ASSIGN_OR_RETURN(options, OptionsToJoin(command));
  } else if (command.job.empty() && command.cluster.empty()) {
    ASSIGN_OR_RETURN(options, OptionsFromEnvironment(command));
  } else if (command.cluster_from != kAuto) {
    return errors::InvalidArgument(
        "--cluster-from reads the task from the environment, but --job and --cluster specify it: "
        "omit one of them");
  } else if (command.cluster.empty() || command.job.empty()) {
    return errors::InvalidArgument("--job and --cluster must be used together; ",
                                   command.job.empty() ? "--job" : "--cluster", " is missing");
  } else {
    absl::StatusOr<ClusterSpec> cluster = ClusterSpec::FromJson(command.cluster);
    if (!cluster.ok()) return Annotate(cluster.status(), "--cluster");
    options.cluster = *std::move(cluster);
    options.job = command.job;
    options.index = command.index.value_or(0);
  }
  ASSIGN_OR_RETURN(options.bind_address, BindAddress(command, options));
  ASSIGN_OR_RETURN(options.http_address, HttpAddress(command));
  options.insecure = command.insecure;
  options.journal_directory = command.journal;
  options.checkpoint_store = command.checkpoint_store;
  options.compute_threads = command.threads;
  options.shared_memory = command.shared_memory;
  options.streams = command.streams;
  options.cpu_devices = command.cpu_devices;
  ASSIGN_OR_RETURN(options.deterministic, ReadDeterministicOps(command.environment.Find("TF_DETERMINISTIC_OPS")));
  options.deterministic = options.deterministic || command.deterministic;
  RETURN_IF_ERROR(ParseLease("--session-lease", command.session_lease, &options.session_lease));
  RETURN_IF_ERROR(ParseLease("--master-lease", command.master_lease, &options.master_lease));
  RETURN_IF_ERROR(ParseLease("--member-lease", command.member_lease, &options.member_lease));
  ASSIGN_OR_RETURN(options.mixed_precision, MixedPrecisionSettings::FromEnvironment([&](const std::string& variable) {
                     const std::string* const value = command.environment.Find(variable);
                     return value != nullptr ? *value : std::string();
                   }));
  RETURN_IF_ERROR(Annotate(ParseProtoText(command.config, &*options.config), "--config"));
  if (command.simulated_gpus > 0) {
    WEIR_LOG(WARNING).With("count", command.simulated_gpus)
        << "SIMULATED GPUs: computed by the host, slowly; for tests only";
    options.gpus = std::make_shared<GpuPlatform>(SimulatedPlatform(command.simulated_gpus));
    // Their memory is host memory: allocate only as needed.
    options.config->mutable_gpu_options()->set_allow_growth(true);
  }
  return options;
}

absl::StatusOr<LogLevel> LogLevelOf(const ServerCommand& command) {
  if (!command.log_level.empty()) return ParseLogLevel(command.log_level);
  const std::string* const variable = command.environment.Find("TF_CPP_MIN_LOG_LEVEL");
  return variable != nullptr ? ParseTensorFlowLogLevel(*variable) : LogLevel::INFO;
}

// Writes logs to standard error. `task` is empty until it is known.
absl::Status SetUpLogs(const ServerCommand& command, const std::string& task) {
  ASSIGN_OR_RETURN(const LogLevel level, LogLevelOf(command));
  ASSIGN_OR_RETURN(const LogFormat format, ParseLogFormat(command.log_format));
  SetMinLogLevel(level);
  SetLogSink(NewFileLogSink(stderr, format, task));
  return absl::OkStatus();
}

// Notifies systemd, if it started this process and requested it.
void Notify(const Environment& environment, absl::string_view state) {
  const std::string* socket = environment.Find("NOTIFY_SOCKET");
  if (socket == nullptr) return;
  if (const absl::Status status = NotifyServiceManager(*socket, state); !status.ok()) {
    WEIR_LOG(WARNING) << "cannot notify the service manager of " << state << ": " << status.message();
  }
}

}  // namespace

absl::Status RunServer(const ServerCommand& command) {
  const sigset_t signals = StopSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  KeepFreedMemory();  // gRPC receives messages into it
  RETURN_IF_ERROR(SetUpLogs(command, ""));
  RETURN_IF_ERROR(CheckThreads());
  ASSIGN_OR_RETURN(Server::Options options, ServerOptions(command));
  const std::string task = options.index == Server::kNewTask ? options.job : TaskName(options.job, options.index);
  RETURN_IF_ERROR(SetUpLogs(command, task));
  for (const std::string& plugin : command.plugins) {
    RETURN_IF_ERROR(LoadPlugin(plugin, {.folders = command.plugin_folders}));
    WEIR_LOG(INFO).With("plugin", plugin) << "loaded the ops of a plug-in";
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<Server> server, Server::Start(std::move(options)));
  if (server->task() != task) RETURN_IF_ERROR(SetUpLogs(command, server->task()));
  // The HTTP server's comes first: a caller that waits for the second file finds both.
  const std::unique_ptr<FileSystem> files = NewPosixFileSystem();
  if (!command.http_ready_file.empty()) {
    RETURN_IF_ERROR(WriteStringToFile(files.get(), command.http_ready_file, server->http_address() + "\n"));
  }
  if (!command.ready_file.empty()) {
    RETURN_IF_ERROR(WriteStringToFile(files.get(), command.ready_file, server->address() + "\n"));
  }
  Notify(command.environment, "READY=1");
  std::optional<VariableShare> share;
  if (!command.join.empty() && !command.no_rebalance) share.emplace(server->address(), server->task());
  std::optional<AutomaticBalance> balance;
  if (command.rebalance_every > 0) {
    balance.emplace(server->address(), server->task(), absl::Seconds(command.rebalance_every));
  }
  std::optional<StandbyKeeper> standbys;
  if (command.standbys > 0) standbys.emplace(server->address(), server->task(), command.standbys);
  const int signal = WaitForStopSignal();
  Notify(command.environment, "STOPPING=1");
  WEIR_LOG(INFO).With("task", server->task()).With("signal", signal) << "stopping";
  StartWatchdog(kLimit + (share.has_value() ? kHandOverLimit : absl::ZeroDuration()));
  balance.reset();
  standbys.reset();
  if (share.has_value()) share->HandOver(kHandOverLimit);
  if (const absl::Status stopped = server->Stop(kPatience, kStopLimit); !stopped.ok()) {
    WEIR_LOG(ERROR).With("task", server->task()) << stopped.message() << "; stopped anyway";
    _exit(kStoppedAnyway);  // its steps still run
  }
  return absl::OkStatus();
}

}  // namespace weir
