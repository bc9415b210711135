// The weir program.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstring>
#include <exception>
#include <iostream>
#include <limits>

#include "core/device/cpu_info.h"
#include "core/kernel/kernel_registry.h"
#include "core/op/op_registry.h"
#include "graph/gradients/gradient_context.h"
#include "kernels/library.h"
#include "kernels/plugin.h"
#include "tools/commands.h"
#include "tools/launch/launch.h"
#include "tools/server_command.h"

namespace weir {
namespace {

constexpr int kFailed = 1;
constexpr int kBadUsage = 2;

// CLI::NonNegativeNumber's message contains the largest double, with all digits.
const CLI::Range kNotNegative(0, std::numeric_limits<int>::max());

int Report(const absl::Status& status) {
  if (status.ok()) return 0;
  std::cerr << "weir: " << status.ToString(absl::StatusToStringMode::kWithNoExtraData) << "\n";
  return kFailed;
}

// For commands whose InvalidArgument can only be the user's error.
int ReportUsage(const absl::Status& status) {
  const int code = Report(status);
  return absl::IsInvalidArgument(status) ? kBadUsage : code;
}

// Sets `difference` if ops differ from those compared with.
absl::Status RunOps(const std::string& against, bool markdown, bool* difference) {
  OpRegistry ops;
  RETURN_IF_ERROR(RegisterAllOps(ops));
  if (against.empty()) {
    KernelRegistry kernels;
    RETURN_IF_ERROR(RegisterAllKernels(kernels));
    const OpRegistries registries{ops, kernels};
    return markdown ? PrintOpsPage(registries, std::cout) : PrintOps(registries, std::cout);
  }
  ASSIGN_OR_RETURN(const int differing, CompareOps(ops, against, std::cout));
  *difference = differing > 0;
  return absl::OkStatus();
}

absl::Status RunGraphPrint(const std::string& file, bool shapes) {
  OpRegistry ops;
  RETURN_IF_ERROR(RegisterAllOps(ops));
  return PrintGraphFile(ops, file, shapes, std::cout);
}

// If standard input, output or error is closed, the next file or connection would get its number, and any printed
// output. A file opened for reading takes the number instead, so that writing still fails.
void OccupyStandardFiles() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) < 0) open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

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

int Main(int argc, char** argv) {
  OccupyStandardFiles();
  if (absl::Status status = CheckCpuBaseline(); !status.ok()) return Report(status);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // exceeding a file size limit becomes a write error
  int result = 0;
  CLI::App app("Weir: runs dataflow graphs on a cluster of processes");
  app.require_subcommand(1);
  app.set_version_flag("--version", "weir " WEIR_VERSION, "Print the version and exit");

  ServerCommand server;
  int port = -1;
  CLI::App* server_app = app.add_subcommand("server", "Run one task of a cluster, until SIGTERM, SIGINT or SIGHUP");
  server_app->add_option("--job", server.job,
                         "The task's job; without --job and --cluster it is read from the environment");
  server_app->add_option("--index", server.index, "The task's index in its job")->check(kNotNegative);
  server_app->add_option("--cluster", server.cluster, R"(The cluster: {"worker": ["127.0.0.1:2222"]})");
  server_app->add_option(
      "--cluster-from", server.cluster_from,
      "Environment to read the cluster from: auto (the first one found), tf_config, kubernetes, mpi, "
      "torchrun or slurm");
  server_app->add_option("--port", port, "Listen on this port instead of the cluster's; 0: any")
      ->check(CLI::Range(0, 65535));
  server_app->add_option("--bind", server.bind, "Listen on this host's address instead of the cluster's");
  server_app->add_flag("--insecure", server.insecure,
                       "Allow a non-loopback address, without encryption or authentication (there is no TLS yet)");
  server_app->add_option("--ready-file", server.ready_file,
                         "Write the bound address to this file when the task is ready");
  server_app->add_option("--journal", server.journal,
                         "Record the sessions of this task's master in this directory, and serve them again after a "
                         "restart of the process; tasks may share the directory");
  server_app->add_option("--checkpoint-store", server.checkpoint_store,
                         "Keep checkpoints of this task's variables, and copies of another task's, in DIR/JOB-INDEX on "
                         "this machine (graphs name it store://); tasks of one machine may share DIR");
  server_app->add_option("--plugin", server.plugins,
                         "Load the ops of this shared object; may be given several times, and must be given to every "
                         "task that runs them");
  server_app
      ->add_option("--plugin-dir", server.plugin_folders, "Folder that plug-ins may be loaded from; may be repeated")
      ->default_str(DefaultPluginFolder());
  server_app->add_flag("!--no-shared-memory", server.shared_memory,
                       "Send large tensors over the network even to tasks on this machine");
  server_app->add_flag("!--no-streams", server.streams,
                       "Use one call per tensor and step, not streams, where shared memory is not used");
  server_app->add_option("--threads", server.threads, "Compute threads; 0: one per processor")->check(kNotNegative);
  server_app->add_option("--cpu-devices", server.cpu_devices, "Number of CPU devices: CPU:0, CPU:1 …")
      ->check(CLI::Range(1, 64));
  server_app->add_flag("--deterministic", server.deterministic,
                       "Compute the same bits in every run, whatever the number of threads and their timing; on all "
                       "tasks, or none (TF_DETERMINISTIC_OPS=1 does the same)");
  server_app->add_option("--session-lease", server.session_lease,
                         "End a session whose client has not been connected for this time (1h by default; inf: never)");
  server_app->add_option("--master-lease", server.master_lease,
                         "End the sessions of another task's master here when it has not answered for this time (2m by "
                         "default; inf: never); at once when it has restarted");
  server_app->add_option("--config", server.config,
                         "Text of a ConfigProto: device_count {key: 'GPU' value: 1} gpu_options {allow_growth: true}");
  server_app
      ->add_option("--simulated-gpus", server.simulated_gpus,
                   "Offer this many simulated GPU devices, computed slowly by the host: for tests only")
      ->check(CLI::Range(0, 16));
  server_app->callback([&] {
    if (port >= 0) server.port = port;
    server.environment = Environment::OfThisProcess();
    const absl::Status limit = RaiseFileLimit();
    result = ReportUsage(limit.ok() ? RunServer(server) : limit);
  });

  LaunchCommand launch;
  double grace = absl::ToDoubleSeconds(launch.grace);
  CLI::App* launch_app = app.add_subcommand(
      "launch",
      "Run a program as all tasks of a cluster on this machine: weir launch -n 4 --ps 2 -- PROGRAM ARGUMENT…");
  launch_app->footer(
      "Each task gets TF_CONFIG. The exit code is that of the first task that failed, or 128 + the number of a "
      "signal.");
  launch_app->add_option("-n,--workers", launch.workers, "Tasks of job worker")->capture_default_str();
  launch_app->add_option("--ps", launch.parameter_servers, "Tasks of job ps; stopped when all others have ended");
  launch_app->add_flag("--chief", launch.chief, "Add a task of job chief");
  launch_app->add_flag("--evaluator", launch.evaluator, "Add an evaluator, outside of the cluster");
  launch_app->add_flag("--keep-going", launch.keep_going, "Keep the other tasks running when one fails");
  launch_app->add_option("--restarts", launch.restarts, "Restart a failed task up to this many times")
      ->check(kNotNegative);
  launch_app->add_option("--grace", grace, "Seconds between SIGTERM, or Ctrl-C, and SIGKILL")
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str();
  launch_app->add_option("--log-dir", launch.log_directory,
                         "Also write each task's output to a file in this directory: worker-0.log");
  launch_app->add_option("command", launch.command, "The program and its arguments, after --")->required();
  launch_app->callback([&] {
    launch.grace = absl::Seconds(grace);
    const absl::StatusOr<int> code = RunLaunch(launch);
    result = code.ok() ? *code : ReportUsage(code.status());
  });

  std::string target;
  CLI::App* status_app = app.add_subcommand("status", "Show the devices of a cluster");
  status_app->add_option("target", target, "grpc://HOST:PORT of any task")->required();
  bool resources = false;
  status_app->add_flag("--resources", resources,
                       "Also show the task's stateful objects: embeddings with their load, variables, queues");
  status_app->callback([&] { result = Report(PrintStatus(target, resources, std::cout)); });

  std::vector<std::string> targets;
  double wait = 0;
  CLI::App* probe_app = app.add_subcommand("probe", "Exit with 0 if all tasks are serving");
  probe_app->add_option("targets", targets, "grpc://HOST:PORT of each task")->required();
  probe_app->add_option("--wait", wait, "Seconds to wait for them")->check(CLI::Range(0.0, 86400.0));
  probe_app->callback([&] { result = ReportUsage(ProbeTasks(targets, absl::Seconds(wait))); });

  std::string from = "auto";
  CLI::App* resolve_app =
      app.add_subcommand("resolve", "Print the cluster and task found in the environment, as a TF_CONFIG");
  resolve_app->add_option("--from", from, "auto, tf_config, kubernetes, mpi, torchrun or slurm")->capture_default_str();
  resolve_app->callback([&] { result = ReportUsage(PrintResolvedCluster(from, std::cout)); });

  std::string against;
  CLI::App* ops_app = app.add_subcommand("ops", "List the ops, with their types, kernels and gradients");
  ops_app->add_option("--against", against, "Compare with the OpList in this file; exit with 1 if ops differ");
  bool markdown = false;
  ops_app->add_flag("--markdown", markdown, "Print the page docs/ops.md")->excludes("--against");
  ops_app->callback([&] {
    bool difference = false;
    result = Report(RunOps(against, markdown, &difference));
    if (difference) result = kFailed;
  });

  std::string file;
  CLI::App* graph_app = app.add_subcommand("graph", "Inspect graphs");
  graph_app->require_subcommand(1);
  CLI::App* print_app = graph_app->add_subcommand("print", "Print a GraphDef in the text form");
  print_app->add_option("file", file, "A GraphDef, binary or text")->required();
  bool shapes = false;
  print_app->add_flag("--shapes", shapes, "Include the inferred shape of each output");
  print_app->callback([&] { result = Report(RunGraphPrint(file, shapes)); });

  std::string checkpoint, other;
  std::vector<std::string> names;
  int max_entries = 10;
  constexpr char kCheckpointHelp[] = "A checkpoint (its files' names without .index), or a directory: its newest one";
  CLI::App* checkpoint_app = app.add_subcommand("checkpoint", "Inspect, check, compare and export checkpoints");
  checkpoint_app->require_subcommand(1);
  CLI::App* list_app = checkpoint_app->add_subcommand(
      "list", "List a checkpoint's tensors with types and shapes, or a directory's checkpoints and its lease");
  list_app->add_option("path", checkpoint, "A checkpoint (its files' names without .index), or a directory")
      ->required();
  list_app->callback([&] { result = Report(ListCheckpoint(checkpoint, std::cout)); });
  CLI::App* show_app = checkpoint_app->add_subcommand("show", "Print the manifest and the values of tensors");
  show_app->add_option("path", checkpoint, kCheckpointHelp)->required();
  show_app->add_option("names", names, "Tensors to show; default: all");
  show_app->add_option("--max-entries", max_entries, "Maximum number of values per tensor")->check(kNotNegative);
  show_app->callback([&] { result = Report(ShowCheckpoint(checkpoint, names, max_entries, std::cout)); });
  CLI::App* verify_app =
      checkpoint_app->add_subcommand("verify", "Read everything and compare all checksums; exit with 1 on damage");
  verify_app->add_option("path", checkpoint, "A checkpoint, or a directory: all of its checkpoints")->required();
  verify_app->callback([&] { result = Report(VerifyCheckpoint(checkpoint, std::cout)); });
  CLI::App* diff_app =
      checkpoint_app->add_subcommand("diff", "Compare the tensors of two checkpoints; exit with 1 if they differ");
  diff_app->add_option("first", checkpoint, kCheckpointHelp)->required();
  diff_app->add_option("second", other, kCheckpointHelp)->required();
  diff_app->callback([&] {
    const absl::StatusOr<int> different = CompareCheckpoints(checkpoint, other, std::cout);
    result = different.ok() && *different > 0 ? kFailed : Report(different.status());
  });
  CLI::App* export_app = checkpoint_app->add_subcommand(
      "export", "Write tensors to a new checkpoint in one file, with slices joined, without lease or list");
  export_app->add_option("path", checkpoint, kCheckpointHelp)->required();
  export_app->add_option("destination", other, "The new checkpoint, such as DIR/model.ckpt")->required();
  export_app->add_option("names", names, "Tensors to export; default: all");
  export_app->callback([&] { result = ReportUsage(ExportCheckpoint(checkpoint, other, names, std::cout)); });

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kBadUsage;
  } catch (const std::exception& error) {  // out of memory or threads
    std::cerr << "weir: " << error.what() << "\n";
    return kFailed;
  }
  errno = 0;
  std::cout.flush();
  if (std::cout.good()) return result;
  std::cerr << "weir: cannot write to standard output" << (errno != 0 ? ": " : "")
            << (errno != 0 ? strerror(errno) : "") << "\n";
  return kFailed;
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) { return weir::Main(argc, argv); }
