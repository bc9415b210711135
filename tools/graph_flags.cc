#include <iostream>
#include <memory>

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
}

}  // namespace weir
