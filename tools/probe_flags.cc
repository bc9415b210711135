#include <memory>

#include "tools/command_flags.h"
#include "tools/commands.h"

namespace weir {

void AddProbeCommand(CommandLine& line) {
  struct Flags {
    std::vector<std::string> targets;
    double wait = 0;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* const app = line.Add(
      line.root(), "probe", "Check whether tasks are serving",
      {.description = "Asks each task for its status, for scripts and for probes of Kubernetes.",
       .examples = {{"weir probe --wait 60 grpc://127.0.0.1:2222 grpc://127.0.0.1:2223",
                     "Waits up to a minute until two tasks are serving"}},
       .exit_codes = {{"0", "All tasks are serving."}, {"1", "One is not."}, {"2", "A flag or a target is wrong."}}});
  app->add_option("TARGET", flags->targets, "grpc://HOST:PORT of each task")->required();
  app->add_option("--wait", flags->wait, "Seconds to wait for them")
      ->check(CLI::Range(0.0, 86400.0))
      ->type_name("SECONDS");
  line.Runs(app, [flags] { return UsageExitCodeOf(ProbeTasks(flags->targets, absl::Seconds(flags->wait))); });
}

}  // namespace weir
