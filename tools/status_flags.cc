#include <unistd.h>

#include <iostream>
#include <memory>

#include "tools/command_flags.h"
#include "tools/commands.h"

namespace weir {

namespace {

struct StatusFlags {
  std::string target;
  bool watch = false;
  StatusWatch what;
  double interval = absl::ToDoubleSeconds(Repetition().interval);
};

CommandDocs StatusDocs() {
  return {
      .description =
          "Prints the devices of all tasks of the cluster with their incarnations, names tasks that do not answer, and "
          "prints of the task that is asked also the memory of its GPUs and its links to other tasks. With --json it "
          "prints that task's report instead: tasks with their health, sessions, steps and what they wait for, bytes, "
          "memory.",
      .examples = {{"weir status --resources grpc://127.0.0.1:2222",
                    "Also the variables, queues and embeddings of that task"},
                   {"weir status --json --watch grpc://127.0.0.1:2222", "A report every two seconds, each on a line"}},
      .exit_codes = {{"0", "The task has answered, or Ctrl-C has ended --watch."},
                     {"1", "It has not, within 30 seconds."},
                     {"2", "A flag is wrong."}}};
}

CommandDocs TopDocs() {
  return {.description =
              "Prints a line for each task of the cluster: steps of its master and graphs that its worker runs per "
              "second, bytes sent and received per second, resident memory, memory of tensors, sessions, and what runs "
              "now. On a terminal the table is refreshed in place.",
          .examples = {{"weir top grpc://127.0.0.1:2222", "All tasks of that task's cluster"}},
          .exit_codes = {
              {"0", "Ctrl-C, or the end of --count."}, {"1", "The task does not answer."}, {"2", "A flag is wrong."}}};
}

void AddRepetition(CLI::App& app, double& seconds, int& count) {
  app.add_option("--interval", seconds, "Seconds in between")
      ->check(CLI::Range(0.1, 86400.0))
      ->capture_default_str()
      ->type_name("SECONDS");
  app.add_option("--count", count, "Stop after this many; 0: at Ctrl-C")
      ->check(NotNegative())
      ->capture_default_str()
      ->type_name("N");
}

int RunStatus(const StatusFlags& flags) {
  if (flags.watch) return ExitCodeOf(WatchStatus(flags.target, flags.what, std::cout));
  if (flags.what.json) return ExitCodeOf(PrintStatusJson(flags.target, std::cout));
  return ExitCodeOf(PrintStatus(flags.target, flags.what.resources, std::cout));
}

}  // namespace

void AddStatusCommand(CommandLine& line) {
  auto flags = std::make_shared<StatusFlags>();
  CLI::App* const app = line.Add(line.root(), "status", "Show the devices of a cluster", StatusDocs());
  app->add_option("TARGET", flags->target, "grpc://HOST:PORT of any task")->required();
  app->add_flag("--resources", flags->what.resources,
                "Also show the task's stateful objects: embeddings with their load, variables, queues");
  app->add_flag("--json", flags->what.json, "Print the task's report, which its status page shows too, as JSON");
  app->add_flag("--watch", flags->watch, "Print again and again");
  AddRepetition(*app, flags->interval, flags->what.repeat.count);
  line.Runs(app, [flags] {
    flags->what.repeat.interval = absl::Seconds(flags->interval);
    return RunStatus(*flags);
  });
}

void AddTopCommand(CommandLine& line) {
  auto flags = std::make_shared<StatusFlags>();
  CLI::App* const app = line.Add(line.root(), "top", "Show steps, bytes and memory of a cluster's tasks", TopDocs());
  app->add_option("TARGET", flags->target, "grpc://HOST:PORT of any task")->required();
  AddRepetition(*app, flags->interval, flags->what.repeat.count);
  line.Runs(app, [flags] {
    flags->what.repeat.interval = absl::Seconds(flags->interval);
    const bool is_terminal = isatty(STDOUT_FILENO) == 1;
    return ExitCodeOf(RunTop(flags->target, flags->what.repeat, is_terminal, std::cout));
  });
}

}  // namespace weir
