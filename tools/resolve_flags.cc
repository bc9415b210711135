#include <iostream>
#include <memory>

#include "tools/command_flags.h"
#include "tools/commands.h"

namespace weir {

void AddResolveCommand(CommandLine& line) {
  auto from = std::make_shared<std::string>("auto");
  CLI::App* const app = line.Add(
      line.root(), "resolve", "Print the cluster and task found in the environment, as a TF_CONFIG",
      {.description = "Reads the same variables as weir server without --job and --cluster: those of TF_CONFIG, "
                      "Kubernetes, mpirun, torchrun or Slurm, the first that is present.",
       .examples = {{"TF_CONFIG=$(weir resolve) python3 program.py", "Give a TensorFlow program the same cluster"}},
       .exit_codes = {{"0", "The cluster was printed."},
                      {"1", "The environment describes no cluster."},
                      {"2", "A flag or a variable is wrong."}}});
  app->add_option("--from", *from, "Environment to read the cluster from; auto: the first one found")
      ->capture_default_str()
      ->type_name("auto|tf_config|kubernetes|mpi|torchrun|slurm");
  line.Runs(app, [from] { return UsageExitCodeOf(PrintResolvedCluster(*from, std::cout)); });
}

}  // namespace weir
