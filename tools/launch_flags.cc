#include <memory>

#include "tools/command_flags.h"
#include "tools/launch/launch.h"

namespace weir {
namespace {

CommandDocs LaunchDocs() {
  return {.usage = "[OPTION]... -- PROGRAM [ARGUMENT]...",
          .description =
              "Each task runs the program with its own TF_CONFIG, on a port that the system chooses and that is "
              "reserved for "
              "it. Every line of output is printed whole, prefixed by its task.\n\n"
              "When a task fails, the others get SIGTERM. Parameter servers get it when all other tasks have ended. "
              "Ctrl-C, "
              "SIGTERM, SIGHUP and SIGQUIT go to every task once; a second one kills. No process that a task started "
              "is left "
              "at the end.",
          .examples = {{"weir launch -n 4 --ps 2 -- my_program --its-flags", "Four workers and two parameter servers"},
                       {"weir launch -n 2 -- weir server", "A cluster of two bare servers"}},
          .exit_codes = {{"0", "All tasks succeeded."},
                         {"N", "The exit code of the first task that failed for good."},
                         {"128+N", "Signal N ended that task, or weir launch."},
                         {"1", "The cluster cannot start."},
                         {"2", "A flag is wrong."},
                         {"126, 127", "The program cannot be run, or does not exist."}},
          .sections = {{"ENVIRONMENT",
                        "TF_CONFIG is set for each task, and WEIR_LOGDIR with --tensorboard-dir. NO_COLOR: prefixes "
                        "have no colours on a "
                        "terminal."}}};
}

void AddTaskCounts(CLI::App& app, LaunchCommand& launch) {
  constexpr char kGroup[] = "Tasks";
  app.add_option("-n,--workers", launch.workers, "Tasks of job worker")
      ->capture_default_str()
      ->type_name("N")
      ->group(kGroup);
  app.add_option("--ps", launch.parameter_servers, "Tasks of job ps; stopped when all others have ended")
      ->type_name("N")
      ->group(kGroup);
  app.add_flag("--chief", launch.chief, "Add a task of job chief")->group(kGroup);
  app.add_flag("--evaluator", launch.evaluator, "Add an evaluator, outside of the cluster")->group(kGroup);
}

void AddFailureFlags(CLI::App& app, LaunchCommand& launch, double& grace) {
  constexpr char kGroup[] = "Failures and output";
  app.add_flag("--keep-going", launch.keep_going, "Keep the other tasks running when one fails")->group(kGroup);
  app.add_option("--restarts", launch.restarts, "Restart a failed task up to this many times")
      ->check(NotNegative())
      ->type_name("N")
      ->group(kGroup);
  app.add_option("--grace", grace, "Seconds between SIGTERM, or Ctrl-C, and SIGKILL")
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str()
      ->type_name("SECONDS")
      ->group(kGroup);
  app.add_option("--log-dir", launch.log_directory,
                 "Also write each task's output to a file in this directory: worker-0.log")
      ->type_name("DIR")
      ->group(kGroup);
  app.add_option("--tensorboard-dir", launch.board_directory,
                 "Set WEIR_LOGDIR, where programs write for TensorBoard, to the absolute path of this directory")
      ->type_name("DIR")
      ->group(kGroup);
}

}  // namespace

void AddLaunchCommand(CommandLine& line) {
  struct Flags {
    LaunchCommand launch;
    double grace = 0;
  };
  auto flags = std::make_shared<Flags>();
  flags->grace = absl::ToDoubleSeconds(flags->launch.grace);
  CLI::App* const app =
      line.Add(line.root(), "launch", "Run a program as all tasks of a cluster on this machine", LaunchDocs());
  AddTaskCounts(*app, flags->launch);
  AddFailureFlags(*app, flags->launch, flags->grace);
  app->add_option("PROGRAM", flags->launch.command, "The program and its arguments, after --")->required();
  line.Runs(app, [flags] {
    flags->launch.grace = absl::Seconds(flags->grace);
    const absl::StatusOr<int> code = RunLaunch(flags->launch);
    return code.ok() ? *code : UsageExitCodeOf(code.status());
  });
}

}  // namespace weir
