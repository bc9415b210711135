#include <iostream>
#include <memory>

#include "core/kernel/kernel_registry.h"
#include "core/op/op_registry.h"
#include "graph/gradients/gradient_context.h"
#include "kernels/library.h"
#include "tools/command_flags.h"
#include "tools/commands.h"

namespace weir {
namespace {

struct OpsFlags {
  std::string against;
  bool markdown = false;
};

// Sets `difference` if ops differ from those compared with.
absl::Status RunOps(const OpsFlags& flags, bool* difference) {
  OpRegistry ops;
  RETURN_IF_ERROR(RegisterAllOps(ops));
  if (flags.against.empty()) {
    KernelRegistry kernels;
    RETURN_IF_ERROR(RegisterAllKernels(kernels));
    const OpRegistries registries{ops, kernels};
    return flags.markdown ? PrintOpsPage(registries, std::cout) : PrintOps(registries, std::cout);
  }
  ASSIGN_OR_RETURN(const int differing, CompareOps(ops, flags.against, std::cout));
  *difference = differing > 0;
  return absl::OkStatus();
}

}  // namespace

void AddOpsCommand(CommandLine& line) {
  auto flags = std::make_shared<OpsFlags>();
  CLI::App* const app = line.Add(
      line.root(), "ops", "List the ops, with their types, kernels and gradients",
      {.description = "Prints each op of this build with its inputs, outputs and attributes, the devices that have "
                      "kernels for it, and whether it has a gradient.",
       .examples = {{"weir ops | grep -A3 '^MatMul('", "One op"},
                    {"weir ops --against ops.pbtxt", "Compare with the OpList of another build or of TensorFlow"}},
       .exit_codes = {{"0", "The ops were printed, or agree."},
                      {"1", "Ops differ, or the file cannot be read."},
                      {"2", "A flag is wrong."}}});
  app->add_option("--against", flags->against, "Compare with the OpList in this file; exit with 1 if ops differ")
      ->type_name("FILE");
  app->add_flag("--markdown", flags->markdown, "Print the page docs/ops.md")->excludes("--against");
  line.Runs(app, [flags] {
    bool difference = false;
    const int code = ExitCodeOf(RunOps(*flags, &difference));
    return difference ? CommandLine::kFailed : code;
  });
}

}  // namespace weir
