#include <iostream>
#include <memory>

#include "tools/command_flags.h"
#include "tools/commands.h"

namespace weir {
namespace {

struct ModelFlags {
  ModelCommand command;
  std::string file;
};
using SharedModelFlags = std::shared_ptr<ModelFlags>;

void AddModelPath(CLI::App& app, const SharedModelFlags& flags) {
  app.add_option("PATH", flags->command.path, "The folder of a SavedModel, or the file of a frozen GraphDef")
      ->required()
      ->type_name("PATH");
}

// The flags that choose what to run or freeze.
void AddSignature(CLI::App& app, const SharedModelFlags& flags) {
  app.add_option("--signature", flags->command.signature, "The signature")->capture_default_str()->type_name("NAME");
  app.add_option("--tags", flags->command.tags, "Tags of the graph, separated by commas")
      ->delimiter(',')
      ->capture_default_str()
      ->type_name("TAGS");
}

void AddModelShow(CommandLine& line, CLI::App& model, const SharedModelFlags& flags) {
  CLI::App* const app =
      line.Add(model, "show", "Print tags, signatures, variables, assets, and ops that this build does not have",
               {.examples = {{"weir model show models/digits/3", ""}}, .exit_codes = UsualExitCodes()});
  AddModelPath(*app, flags);
  line.Runs(app, [flags] { return ExitCodeOf(ShowModel(flags->command.path, std::cout)); });
}

void AddModelRun(CommandLine& line, CLI::App& model, const SharedModelFlags& flags) {
  CLI::App* const app =
      line.Add(model, "run", "Run a signature once and print its results as JSON",
               {.examples = {{"weir model run models/digits/3 --input 'x=[[1, 2]]'", "JSON in, JSON out"},
                             {"weir model run frozen.pb --input x=x.npy --output y=y.npy", "NumPy's files"}},
                .exit_codes = UsualExitCodes()});
  AddModelPath(*app, flags);
  AddSignature(*app, flags);
  app->add_option("--input", flags->command.inputs, "NAME=FILE.npy or NAME=JSON; once for each input")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE");
  app->add_option("--output", flags->command.outputs,
                  "NAME or, to write a file, NAME=FILE.npy; of a frozen graph a tensor to compute; default: all")
      ->allow_extra_args(false)
      ->type_name("NAME");
  app->add_option("--target", flags->command.target, "grpc://HOST:PORT of a cluster's task; default: this process")
      ->type_name("TARGET");
  app->add_option("--init-op", flags->command.init_op, "Of a frozen graph, a node to run first, which fills tables")
      ->type_name("NODE");
  line.Runs(app, [flags] { return UsageExitCodeOf(RunModel(flags->command, std::cout)); });
}

void AddModelFreeze(CommandLine& line, CLI::App& model, const SharedModelFlags& flags) {
  CLI::App* const app =
      line.Add(model, "freeze", "Write one signature as a GraphDef in a file, with variables as constants",
               {.examples = {{"weir model freeze models/digits/3 -o frozen.pb", ""}}, .exit_codes = UsualExitCodes()});
  AddModelPath(*app, flags);
  AddSignature(*app, flags);
  app->add_option("-o,--out", flags->file, "The file to write")->required()->type_name("FILE");
  line.Runs(app, [flags] { return UsageExitCodeOf(FreezeModelTo(flags->command, flags->file, std::cout)); });
}

}  // namespace

void AddModelCommand(CommandLine& line) {
  const auto flags = std::make_shared<ModelFlags>();
  CLI::App* const model =
      line.Add(line.root(), "model", "Inspect, run and freeze models",
               {.description = "A model is a SavedModel, of TensorFlow, Keras or Weir, or a frozen GraphDef.",
                .examples = {{"weir model show models/digits/3", ""}},
                .exit_codes = UsualExitCodes()});
  AddModelShow(line, *model, flags);
  AddModelRun(line, *model, flags);
  AddModelFreeze(line, *model, flags);
}

}  // namespace weir
