#include <iostream>
#include <memory>

#include "tools/command_flags.h"
#include "tools/trace_command.h"

namespace weir {
namespace {

CommandDocs TraceDocs() {
  return {
      .description =
          "Writes one trace of all tasks, in the Chrome trace event format, which https://ui.perfetto.dev and "
          "chrome://tracing show: kernels, sends and receives with arrows between tasks, collectives and waits. The "
          "cluster's steps go on meanwhile; those that are traced are a little slower. Steps of all masters count.\n\n"
          "The clocks of the tasks are aligned; otherData.clocks in the file has each task's offset and the bound of "
          "its "
          "error. After the trace, hints say what limits the steps, if anything stands out. Ctrl-C writes the steps so "
          "far.",
      .examples = {{"weir trace grpc://127.0.0.1:2222 --steps 20 -o trace.json",
                    "The next 20 steps of the cluster of that task"}},
      .exit_codes = {{"0", "All steps were traced."},
                     {"1", "The trace has fewer steps, or cannot begin or be written."},
                     {"2", "A flag is wrong."}}};
}

}  // namespace

void AddTraceCommand(CommandLine& line) {
  struct Flags {
    TraceCommand trace;
    std::string timeout = "1m";
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* const app =
      line.Add(line.root(), "trace", "Trace the next steps of a cluster on all its tasks", TraceDocs());
  app->add_option("TARGET", flags->trace.target, "grpc://HOST:PORT of any task")->required();
  app->add_option("--steps", flags->trace.steps, "How many steps to trace")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str()
      ->type_name("N");
  app->add_option("-o,--output", flags->trace.output, "The file to write")->capture_default_str()->type_name("FILE");
  app->add_option("--logdir", flags->trace.board_directory,
                  "Also write a profile for TensorBoard's profile plug-in into this directory")
      ->type_name("DIR");
  app->add_option("--timeout", flags->timeout, "Write what there is after this time, such as 30s or 5m")
      ->capture_default_str()
      ->type_name("DURATION");
  line.Runs(app, [flags] {
    if (!absl::ParseDuration(flags->timeout, &flags->trace.timeout) || flags->trace.timeout <= absl::ZeroDuration() ||
        flags->trace.timeout > absl::Hours(24)) {
      return UsageExitCodeOf(
          errors::InvalidArgument("--timeout is a duration of up to 24h, such as \"30s\" or \"5m\", "
                                  "not \"",
                                  flags->timeout, "\""));
    }
    const absl::StatusOr<bool> is_complete = RunTrace(flags->trace, std::cout);
    if (!is_complete.ok()) return UsageExitCodeOf(is_complete.status());
    return *is_complete ? CommandLine::kSuccess : CommandLine::kFailed;
  });
}

}  // namespace weir
