#include <iostream>
#include <memory>

#include "tools/command_flags.h"
#include "tools/commands.h"

namespace weir {

void AddStatusCommand(CommandLine& line) {
  struct Flags {
    std::string target;
    bool resources = false;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* const app = line.Add(
      line.root(), "status", "Show the devices of a cluster",
      {.description = "Prints the devices of all tasks of the cluster with their incarnations, and of the task that is "
                      "asked also the memory of its GPUs and its links to other tasks.",
       .examples = {{"weir status --resources grpc://127.0.0.1:2222",
                     "Also the variables, queues and embeddings of that task"}},
       .exit_codes = {
           {"0", "The task has answered."}, {"1", "It has not, within 10 seconds."}, {"2", "A flag is wrong."}}});
  app->add_option("TARGET", flags->target, "grpc://HOST:PORT of any task")->required();
  app->add_flag("--resources", flags->resources,
                "Also show the task's stateful objects: embeddings with their load, variables, queues");
  line.Runs(app, [flags] { return ExitCodeOf(PrintStatus(flags->target, flags->resources, std::cout)); });
}

}  // namespace weir
