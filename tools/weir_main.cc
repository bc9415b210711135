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

#include "core/cpu_info.h"
#include "core/kernel_registry.h"
#include "core/op_registry.h"
#include "graph/gradients/gradient_context.h"
#include "kernels/library.h"
#include "tools/commands.h"
#include "tools/launch/launch.h"
#include "tools/server_command.h"

namespace weir {
namespace {

constexpr int kFailed = 1;
constexpr int kBadUsage = 2;

// CLI::NonNegativeNumber tells of the largest double, in all its digits.
const CLI::Range kNotNegative(0, std::numeric_limits<int>::max());

int Report(const absl::Status& status) {
  if (status.ok()) return 0;
  std::cerr << "weir: " << status.ToString(absl::StatusToStringMode::kWithNoExtraData) << "\n";
  return kFailed;
}

// For commands where InvalidArgument can only be the user's.
int ReportUsage(const absl::Status& status) {
  const int code = Report(status);
  return absl::IsInvalidArgument(status) ? kBadUsage : code;
}

// `difference` tells whether ops differ from those compared with.
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

// Where standard input, output or error is closed, the next file or connection would get its number, and what is
// printed. Now what is there fails as before: one cannot write what one has opened to read.
void OccupyStandardFiles() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) < 0) open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

// A task has a file for each connection, and the limit that shells set is for programs that use select(). Without those
// that it needs itself, gRPC would end the process.
absl::Status RaiseFileLimit() {
  constexpr rlim_t kFewest = 16;
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return absl::OkStatus();
  if (limit.rlim_max < kFewest) {
    return errors::ResourceExhausted("A server needs ", kFewest, " open files at least, and the limit is ",
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
  signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of what writes it
  int result = 0;
  CLI::App app("Weir: graphs that run on a cluster of processes");
  app.require_subcommand(1);

  ServerCommand server;
  int port = -1;
  CLI::App* server_app = app.add_subcommand("server", "Run one task of a cluster, until SIGTERM, SIGINT or SIGHUP");
  server_app->add_option("--job", server.job, "The task's job; without --job and --cluster, the environment tells");
  server_app->add_option("--index", server.index, "The task's index in its job")->check(kNotNegative);
  server_app->add_option("--cluster", server.cluster, R"(The cluster: {"worker": ["127.0.0.1:2222"]})");
  server_app->add_option(
      "--cluster-from", server.cluster_from,
      "Where the environment is to tell: auto (the first that is there), tf_config, kubernetes, mpi, "
      "torchrun or slurm");
  server_app->add_option("--port", port, "Listen on this port instead of the cluster's; 0: any")
      ->check(CLI::Range(0, 65535));
  server_app->add_option("--bind", server.bind, "Listen on this host's address instead of the cluster's");
  server_app->add_flag("--insecure", server.insecure,
                       "Listen where other machines can reach it, without encryption (there is no TLS yet)");
  server_app->add_option("--ready-file", server.ready_file, "Write the bound address here when the task serves");
  server_app->add_flag("!--no-shared-memory", server.shared_memory,
                       "Send large tensors to tasks of this machine over the network too");
  server_app->add_flag("!--no-streams", server.streams,
                       "Send what steps consist of by a call each where it does not go through shared memory");
  server_app->add_option("--threads", server.threads, "Threads that compute; 0: one per processor")
      ->check(kNotNegative);
  server_app->add_option("--cpu-devices", server.cpu_devices, "Devices that the task has: CPU:0, CPU:1 …")
      ->check(CLI::Range(1, 64));
  server_app->add_option("--config", server.config,
                         "A ConfigProto's text: device_count {key: 'GPU' value: 1} gpu_options {allow_growth: true}");
  server_app
      ->add_option("--simulated-gpus", server.simulated_gpus,
                   "Offer so many GPU devices that the host simulates, slowly: for tests, never for speed")
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
  launch_app->add_option("--ps", launch.parameter_servers, "Tasks of job ps; they are ended when the others have");
  launch_app->add_flag("--chief", launch.chief, "One task of job chief besides");
  launch_app->add_flag("--evaluator", launch.evaluator, "One evaluator, outside of the cluster, besides");
  launch_app->add_flag("--keep-going", launch.keep_going, "A task that fails does not end the others");
  launch_app->add_option("--restarts", launch.restarts, "Start a task that fails again, this many times")
      ->check(kNotNegative);
  launch_app->add_option("--grace", grace, "Seconds between SIGTERM, or Ctrl-C, and SIGKILL")
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str();
  launch_app->add_option("--log-dir", launch.log_directory,
                         "Write what each task prints to a file there too: worker-0.log");
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
                       "also the task's stateful objects: embeddings with their load, variables, queues");
  status_app->callback([&] { result = Report(PrintStatus(target, resources, std::cout)); });

  std::vector<std::string> targets;
  double wait = 0;
  CLI::App* probe_app = app.add_subcommand("probe", "Tell by the exit code whether tasks serve");
  probe_app->add_option("targets", targets, "grpc://HOST:PORT of each")->required();
  probe_app->add_option("--wait", wait, "Seconds to wait until they do")->check(CLI::Range(0.0, 86400.0));
  probe_app->callback([&] { result = ReportUsage(ProbeTasks(targets, absl::Seconds(wait))); });

  std::string from = "auto";
  CLI::App* resolve_app =
      app.add_subcommand("resolve", "Print the cluster and the task that the environment tells, as a TF_CONFIG");
  resolve_app->add_option("--from", from, "auto, tf_config, kubernetes, mpi, torchrun or slurm")->capture_default_str();
  resolve_app->callback([&] { result = ReportUsage(PrintResolvedCluster(from, std::cout)); });

  std::string against;
  CLI::App* ops_app = app.add_subcommand("ops", "List the ops, with their types, kernels and gradients");
  ops_app->add_option("--against", against, "Compare with the OpList in this file; exit code 1 when ops differ");
  bool markdown = false;
  ops_app->add_flag("--markdown", markdown, "As the page docs/ops.md")->excludes("--against");
  ops_app->callback([&] {
    bool difference = false;
    result = Report(RunOps(against, markdown, &difference));
    if (difference) result = kFailed;
  });

  std::string file;
  CLI::App* graph_app = app.add_subcommand("graph", "Look at graphs");
  graph_app->require_subcommand(1);
  CLI::App* print_app = graph_app->add_subcommand("print", "Print a GraphDef in the text form");
  print_app->add_option("file", file, "A GraphDef, binary or text")->required();
  bool shapes = false;
  print_app->add_flag("--shapes", shapes, "With the inferred shape of each output");
  print_app->callback([&] { result = Report(RunGraphPrint(file, shapes)); });

  std::string prefix;
  std::vector<std::string> names;
  int max_entries = 10;
  CLI::App* checkpoint_app = app.add_subcommand("checkpoint", "Look at checkpoints");
  checkpoint_app->require_subcommand(1);
  CLI::App* list_app = checkpoint_app->add_subcommand("list", "Names, types and shapes");
  list_app->add_option("prefix", prefix, "The checkpoint: its files' names without .index")->required();
  list_app->callback([&] { result = Report(ListCheckpoint(prefix, std::cout)); });
  CLI::App* show_app = checkpoint_app->add_subcommand("show", "Values too");
  show_app->add_option("prefix", prefix, "The checkpoint: its files' names without .index")->required();
  show_app->add_option("names", names, "Tensors; all, when none is given");
  show_app->add_option("--max-entries", max_entries, "Values to print of each")->check(kNotNegative);
  show_app->callback([&] { result = Report(ShowCheckpoint(prefix, names, max_entries, std::cout)); });

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kBadUsage;
  } catch (const std::exception& error) {  // the system has no memory, or no thread, to give
    std::cerr << "weir: " << error.what() << "\n";
    return kFailed;
  }
  errno = 0;
  std::cout.flush();
  if (std::cout.good()) return result;
  std::cerr << "weir: standard output cannot be written" << (errno != 0 ? ": " : "")
            << (errno != 0 ? strerror(errno) : "") << "\n";
  return kFailed;
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) { return weir::Main(argc, argv); }
