#include <sys/resource.h>

#include <limits>
#include <memory>

#include "tools/command_flags.h"
#include "tools/parent_process.h"
#include "tools/server_command.h"

namespace weir {
namespace {

// A task has one file per connection, but shells limit files for programs that use select(). Without the files that it
// needs itself, gRPC would abort the process.
absl::Status RaiseFileLimit() {
  constexpr rlim_t kMinFiles = 16;
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return absl::OkStatus();
  if (limit.rlim_max < kMinFiles) {
    return errors::ResourceExhausted("A server needs at least ", kMinFiles, " open files, but the limit is ",
                                     limit.rlim_max, ": raise it (ulimit -n)");
  }
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  return absl::OkStatus();
}

CommandDocs ServerDocs() {
  return {
      .description =
          "A task offers its devices to the masters of the cluster, and is itself a master for clients that connect to "
          "it. Every task knows the addresses of all tasks and which one is its own. Without --job and --cluster, both "
          "are read from the environment: from TF_CONFIG, or from what Kubernetes, mpirun, torchrun or Slurm set.\n\n"
          "On SIGTERM, SIGINT or SIGHUP the task lets steps in flight finish for two seconds, and then cancels them. A "
          "second signal, or ten seconds, end the process at once.",
      .examples =
          {{R"(weir server --job worker --index 0 --cluster '{"worker": ["127.0.0.1:2222", "127.0.0.1:2223"]}')",
            "The first of two workers on this machine"},
           {"srun -N 4 weir server --insecure", "One worker on each of four nodes of a Slurm job"},
           {"weir server --job worker --join 127.0.0.1:2222", "Another worker for the running cluster of that task"}},
      .exit_codes = {{"0", "The task was stopped by a signal."},
                     {"1", "The task cannot start: its address is in use, say."},
                     {"2", "A flag or an environment variable is wrong."},
                     {"3", "Steps did not end in time after a signal, or a second signal came."}},
      .sections = {
          {"ENVIRONMENT",
           "TF_CONFIG: the cluster and the task, in TensorFlow's JSON. WEIR_JOBS, WEIR_PORT, WEIR_HOSTS, "
           "WEIR_TASKS_PER_HOST and WEIR_SERVICE add what launchers do not provide.\n\n"
           "TF_DETERMINISTIC_OPS=1 is --deterministic. TF_CPP_MIN_LOG_LEVEL=0, 1, 2 or 3: log from level info, "
           "warning or error on, or nothing, without --log-level. NOTIFY_SOCKET: systemd is notified when the task is "
           "ready and when it stops."}}};
}

void AddTaskFlags(CLI::App& app, ServerCommand& server, int& port) {
  constexpr char kGroup[] = "Task and cluster";
  app.add_option("--job", server.job, "The task's job; without --job and --cluster it is read from the environment")
      ->type_name("JOB")
      ->group(kGroup);
  app.add_option("--index", server.index, "The task's index in its job; with --join: of the lost task to replace")
      ->check(NotNegative())
      ->type_name("N")
      ->group(kGroup);
  app.add_option("--cluster", server.cluster, R"(The cluster: {"worker": ["127.0.0.1:2222"]})")
      ->type_name("JSON")
      ->group(kGroup);
  app.add_option("--join", server.join,
                 "Become a new task, in the job of --job, of the running cluster of the task at HOST:PORT")
      ->type_name("ADDRESS")
      ->group(kGroup);
  app.add_option("--advertise", server.advertise,
                 "HOST or HOST:PORT at which the other tasks reach a task that joins (as bound by default)")
      ->type_name("ADDRESS")
      ->group(kGroup);
  app.add_flag("--no-rebalance", server.no_rebalance,
               "With --join: a parameter server (--job ps) takes no share of the variables, and moves none away when "
               "it stops")
      ->group(kGroup);
  app.add_option("--rebalance-every", server.rebalance_every,
                 "Measure the load of all parameter servers every so many seconds, and move variables from one that "
                 "stays overloaded; a flag of the cluster's registrar, which others ignore")
      ->check(CLI::Range(0.1, 86400.0))
      ->type_name("SECONDS")
      ->group(kGroup);
  app.add_option("--standbys", server.standbys,
                 "Keep so many standbys of each parameter server (--job ps), among the others: they take over if it is "
                 "lost, without a checkpoint; a flag of the cluster's registrar, which others ignore")
      ->check(CLI::Range(0, 4))
      ->type_name("N")
      ->group(kGroup);
  app.add_option("--cluster-from", server.cluster_from,
                 "Environment to read the cluster from; auto: the first one found")
      ->type_name("auto|tf_config|kubernetes|mpi|torchrun|slurm")
      ->group(kGroup);
  app.add_option("--port", port, "Listen on this port instead of the cluster's; 0: any")
      ->check(CLI::Range(0, 65535))
      ->type_name("PORT")
      ->group(kGroup);
  app.add_option("--bind", server.bind, "Listen on this host's address instead of the cluster's")
      ->type_name("HOST")
      ->group(kGroup);
  app.add_flag("--insecure", server.insecure,
               "Allow a non-loopback address, without encryption or authentication (there is no TLS yet)")
      ->group(kGroup);
  app.add_option("--ready-file", server.ready_file, "Write the bound address to this file when the task is ready")
      ->type_name("FILE")
      ->group(kGroup);
  app.add_option("--parent", server.parent,
                 "Kill the server when its parent process PID, or the thread of it that started the server, ends")
      ->check(CLI::Range(1, std::numeric_limits<int>::max()))
      ->type_name("PID")
      ->group(kGroup);
}

void AddDeviceFlags(CLI::App& app, ServerCommand& server) {
  constexpr char kGroup[] = "Devices and computation";
  app.add_option("--threads", server.threads, "Compute threads; 0: one per processor")
      ->check(NotNegative())
      ->type_name("N")
      ->group(kGroup);
  app.add_option("--cpu-devices", server.cpu_devices, "Number of CPU devices: CPU:0, CPU:1 …")
      ->check(CLI::Range(1, 64))
      ->type_name("N")
      ->group(kGroup);
  app.add_flag("--deterministic", server.deterministic,
               "Compute the same bits in every run, whatever the number of threads and their timing; on all tasks, or "
               "none (TF_DETERMINISTIC_OPS=1 does the same)")
      ->group(kGroup);
  app.add_option("--config", server.config,
                 "Text of a ConfigProto: device_count {key: 'GPU' value: 1} gpu_options {allow_growth: true}")
      ->type_name("TEXT")
      ->group(kGroup);
  app.add_option("--simulated-gpus", server.simulated_gpus,
                 "Offer this many simulated GPU devices, computed slowly by the host: for tests only")
      ->check(CLI::Range(0, 16))
      ->type_name("N")
      ->group(kGroup);
}

void AddStateFlags(CLI::App& app, ServerCommand& server) {
  constexpr char kGroup[] = "Sessions and state";
  app.add_option("--journal", server.journal,
                 "Record the sessions of this task's master in this directory, and serve them again after a restart of "
                 "the process; tasks may share the directory")
      ->type_name("DIR")
      ->group(kGroup);
  app.add_option("--checkpoint-store", server.checkpoint_store,
                 "Keep checkpoints of this task's variables, and copies of another task's, in DIR/JOB-INDEX on this "
                 "machine (graphs name it store://); tasks of one machine may share DIR")
      ->type_name("DIR")
      ->group(kGroup);
  app.add_option("--session-lease", server.session_lease,
                 "End a session whose client has not been connected for this time (1h by default; inf: never)")
      ->type_name("DURATION")
      ->group(kGroup);
  app.add_option(
         "--master-lease", server.master_lease,
         "End the sessions of another task's master here when it has not answered for this time (2m by default; "
         "inf: never); at once when it has restarted")
      ->type_name("DURATION")
      ->group(kGroup);
  app.add_option(
         "--member-lease", server.member_lease,
         "Remove a task that joined the cluster from it when it has not answered for this time (30s by default; "
         "inf: never); a flag of the cluster's registrar, its chief or first worker")
      ->type_name("DURATION")
      ->group(kGroup);
}

void AddHttpFlags(CLI::App& app, ServerCommand& server, int& port) {
  constexpr char kGroup[] = "Metrics and status";
  app.add_option("--http-port", port,
                 "Serve /healthz, /metrics for Prometheus and a status page over HTTP on this port; 0: any")
      ->check(CLI::Range(0, 65535))
      ->type_name("PORT")
      ->group(kGroup);
  app.add_option("--http-bind", server.http_bind,
                 "Serve them on this host's address; others than loopback need --insecure")
      ->capture_default_str()
      ->type_name("HOST")
      ->group(kGroup);
  app.add_option("--http-ready-file", server.http_ready_file,
                 "Write their bound address to this file when the task is ready")
      ->type_name("FILE")
      ->group(kGroup);
}

void AddPluginFlags(CLI::App& app, ServerCommand& server) {
  constexpr char kGroup[] = "Plug-ins";
  app.add_option("--plugin", server.plugins,
                 "Load the ops of this shared object; may be repeated. Every task whose master sees such ops, or that "
                 "runs them, needs it")
      ->type_name("FILE")
      ->group(kGroup);
  app.add_option("--plugin-dir", server.plugin_folders,
                 "A folder that plug-ins may be in, besides the folder weir beside libweir.so; may be repeated")
      ->type_name("DIR")
      ->group(kGroup);
}

void AddNetworkFlags(CLI::App& app, ServerCommand& server) {
  constexpr char kGroup[] = "Network";
  app.add_flag("!--no-shared-memory", server.shared_memory,
               "Send large tensors over the network even to tasks on this machine")
      ->group(kGroup);
  app.add_flag("!--no-streams", server.streams,
               "Use one call per tensor and step, not streams, where shared memory is not used")
      ->group(kGroup);
}

void AddLogFlags(CLI::App& app, ServerCommand& server) {
  constexpr char kGroup[] = "Logs";
  AddChoice(
      app, "--log-level", server.log_level, {"debug", "info", "warning", "error"},
      "Log messages of this level and above to standard error (info by default; TF_CPP_MIN_LOG_LEVEL sets it too)")
      ->group(kGroup);
  AddChoice(app, "--log-format", server.log_format, {"text", "json"}, "The form of a log line; json: one object a line")
      ->capture_default_str()
      ->group(kGroup);
}

}  // namespace

void AddServerCommand(CommandLine& line) {
  struct Flags {
    ServerCommand server;
    int port = -1, http_port = -1;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* const app =
      line.Add(line.root(), "server", "Run one task of a cluster, until SIGTERM, SIGINT or SIGHUP", ServerDocs());
  AddTaskFlags(*app, flags->server, flags->port);
  AddDeviceFlags(*app, flags->server);
  AddStateFlags(*app, flags->server);
  AddPluginFlags(*app, flags->server);
  AddNetworkFlags(*app, flags->server);
  AddHttpFlags(*app, flags->server, flags->http_port);
  AddLogFlags(*app, flags->server);
  line.Runs(app, [flags] {
    if (flags->port >= 0) flags->server.port = flags->port;
    if (flags->http_port >= 0) flags->server.http_port = flags->http_port;
    flags->server.environment = Environment::OfThisProcess();
    absl::Status started = RaiseFileLimit();
    if (started.ok() && flags->server.parent != 0) started = EndWithParent(flags->server.parent);
    return UsageExitCodeOf(started.ok() ? RunServer(flags->server) : started);
  });
}

}  // namespace weir
