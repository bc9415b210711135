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

absl::Status PrintGraph(const std::string& file, bool shapes) {
  OpRegistry ops;
  RETURN_IF_ERROR(RegisterAllOps(ops));
  return PrintGraphFile(ops, file, shapes, std::cout);
}

absl::Status PlaceGraphs(const PlaceCommand& command) {
  OpRegistry ops;
  KernelRegistry kernels;
  RETURN_IF_ERROR(RegisterAllOps(ops));
  RETURN_IF_ERROR(RegisterAllKernels(kernels));
  return PlaceGraphFiles({.ops = ops, .kernels = kernels}, command, std::cout);
}

CommandDocs PlaceDocs() {
  return {
      .description =
          "Places graphs by cost, as a session with the option CostPlacement does, on devices that a flag describes, "
          "and predicts the time of a step: of the node without consumers that needs the most work. Beside it stand "
          "the predictions for TensorFlow's first fit, for the best single device, and for variables spread "
          "round-robin and by bytes.\n\n"
          "Nothing runs: kernels are estimated from inferred shapes, or taken from a traced step.",
      .examples = {{"weir graph place --explain model.pb --devices @devices.txt",
                    "On the devices that the file lists, with the reason for each"},
                   {"weir graph place model.pb --devices @devices.txt --times metadata.pb",
                    "Measured times, from the RunMetadata of a step with FULL_TRACE"}},
      .exit_codes = UsualExitCodes()};
}

void AddGraphPlace(CommandLine& line, CLI::App& graph) {
  const auto flags = std::make_shared<PlaceCommand>();
  CLI::App* const app =
      line.Add(graph, "place", "Predict the step time of a GraphDef that is placed by cost", PlaceDocs());
  app->add_option("FILE", flags->files, "GraphDefs, binary or text")->required()->type_name("FILE");
  app->add_option(
         "--devices", flags->devices,
         "DEVICE=gflops:N,gbs:N[,memory:N[kmgt]][,kernels:N][,overhead_us:N], separated by semicolons; the most "
         "preferred first; or @FILE with such lines")
      ->required()
      ->type_name("DEVICES");
  app->add_option("--link", flags->link, "The cost of a transfer between two devices")
      ->capture_default_str()
      ->type_name("LINK");
  app->add_flag("--explain", flags->explain,
                "Print each unit of nodes with its device, its costs and its alternatives");
  app->add_option("--times", flags->times, "A RunMetadata with the kernels' times, binary or text")->type_name("FILE");
  app->add_option("--unknown-dimension", flags->unknown_dimension, "The size of dimensions that the graph leaves open")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str()
      ->type_name("N");
  app->add_option("--effort", flags->effort, "Millions of kernels to simulate for a graph")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str()
      ->type_name("N");
  line.Runs(app, [flags] { return UsageExitCodeOf(PlaceGraphs(*flags)); });
}

}  // namespace

void AddGraphCommand(CommandLine& line) {
  struct Flags {
    std::string file;
    bool shapes = false;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* const graph = line.Add(line.root(), "graph", "Inspect graphs",
                                   {.description = "Graphs are GraphDef messages in files, binary or text.",
                                    .examples = {{"weir graph print --shapes model.pb", ""}},
                                    .exit_codes = UsualExitCodes()});
  CLI::App* const print =
      line.Add(*graph, "print", "Print a GraphDef in the text form",
               {.examples = {{"weir graph print --shapes model.pb", ""}}, .exit_codes = UsualExitCodes()});
  print->add_option("FILE", flags->file, "A GraphDef, binary or text")->required()->type_name("FILE");
  print->add_flag("--shapes", flags->shapes, "Include the inferred shape of each output");
  line.Runs(print, [flags] { return ExitCodeOf(PrintGraph(flags->file, flags->shapes)); });
  AddGraphPlace(line, *graph);
}

}  // namespace weir
