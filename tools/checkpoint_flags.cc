#include <iostream>
#include <memory>

#include "tools/command_flags.h"
#include "tools/commands.h"

namespace weir {
namespace {

struct CheckpointFlags {
  std::string path, other;
  std::vector<std::string> names;
  int max_entries = 10;
};
using Flags = std::shared_ptr<CheckpointFlags>;

constexpr char kPathHelp[] = "A checkpoint (its files' names without .index), or a directory: its newest one";

CLI::Option* AddPath(CLI::App& app, const std::string& name, std::string& value, const std::string& description) {
  return app.add_option(name, value, description)->required()->type_name("PATH");
}

void AddList(CommandLine& line, CLI::App& checkpoint, const Flags& flags) {
  CLI::App* const app =
      line.Add(checkpoint, "list",
               "List a checkpoint's tensors with types and shapes, or a directory's checkpoints and its lease",
               {.examples = {{"weir checkpoint list /data/model", ""}}, .exit_codes = UsualExitCodes()});
  AddPath(*app, "PATH", flags->path, "A checkpoint (its files' names without .index), or a directory");
  line.Runs(app, [flags] { return ExitCodeOf(ListCheckpoint(flags->path, std::cout)); });
}

void AddShow(CommandLine& line, CLI::App& checkpoint, const Flags& flags) {
  CLI::App* const app = line.Add(
      checkpoint, "show", "Print the manifest and the values of tensors",
      {.examples = {{"weir checkpoint show /data/model global_step", "One tensor"}}, .exit_codes = UsualExitCodes()});
  AddPath(*app, "PATH", flags->path, kPathHelp);
  app->add_option("NAME", flags->names, "Tensors to show; default: all");
  app->add_option("--max-entries", flags->max_entries, "Maximum number of values per tensor")
      ->check(NotNegative())
      ->capture_default_str()
      ->type_name("N");
  line.Runs(app,
            [flags] { return ExitCodeOf(ShowCheckpoint(flags->path, flags->names, flags->max_entries, std::cout)); });
}

void AddVerify(CommandLine& line, CLI::App& checkpoint, const Flags& flags) {
  CLI::App* const app = line.Add(
      checkpoint, "verify", "Read everything and compare all checksums; exit with 1 on damage",
      {.examples = {{"weir checkpoint verify /data/model", "All checkpoints of a directory"}},
       .exit_codes = {
           {"0", "No checkpoint is damaged."}, {"1", "One is, or cannot be read."}, {"2", "A flag is wrong."}}});
  AddPath(*app, "PATH", flags->path, "A checkpoint, or a directory: all of its checkpoints");
  line.Runs(app, [flags] { return ExitCodeOf(VerifyCheckpoint(flags->path, std::cout)); });
}

void AddDiff(CommandLine& line, CLI::App& checkpoint, const Flags& flags) {
  CLI::App* const app = line.Add(
      checkpoint, "diff", "Compare the tensors of two checkpoints; exit with 1 if they differ",
      {.examples = {{"weir checkpoint diff /data/model/model.ckpt-100 /data/model/model.ckpt-200", ""}},
       .exit_codes = {
           {"0", "The checkpoints agree."}, {"1", "They differ, or cannot be read."}, {"2", "A flag is wrong."}}});
  AddPath(*app, "FIRST", flags->path, kPathHelp);
  AddPath(*app, "SECOND", flags->other, kPathHelp);
  line.Runs(app, [flags] {
    const absl::StatusOr<int> different = CompareCheckpoints(flags->path, flags->other, std::cout);
    return different.ok() && *different > 0 ? CommandLine::kFailed : ExitCodeOf(different.status());
  });
}

void AddExport(CommandLine& line, CLI::App& checkpoint, const Flags& flags) {
  CLI::App* const app = line.Add(
      checkpoint, "export", "Write tensors to a new checkpoint in one file, with slices joined, without lease or list",
      {.examples = {{"weir checkpoint export /data/model /tmp/export/model.ckpt", "The newest checkpoint, whole"}},
       .exit_codes = UsualExitCodes()});
  AddPath(*app, "PATH", flags->path, kPathHelp);
  AddPath(*app, "DESTINATION", flags->other, "The new checkpoint, such as DIR/model.ckpt");
  app->add_option("NAME", flags->names, "Tensors to export; default: all");
  line.Runs(app,
            [flags] { return UsageExitCodeOf(ExportCheckpoint(flags->path, flags->other, flags->names, std::cout)); });
}

}  // namespace

void AddCheckpointCommand(CommandLine& line) {
  const auto flags = std::make_shared<CheckpointFlags>();
  CLI::App* const app = line.Add(
      line.root(), "checkpoint", "Inspect, check, compare and export checkpoints",
      {.description =
           "Checkpoints are in TensorFlow's V2 format. PATH is a checkpoint's prefix, DIR/model.ckpt-100, or a "
           "directory, which stands for its newest checkpoint unless stated otherwise.",
       .examples = {{"weir checkpoint list /data/model", "The checkpoints of a directory"}},
       .exit_codes = UsualExitCodes()});
  AddList(line, *app, flags);
  AddShow(line, *app, flags);
  AddVerify(line, *app, flags);
  AddDiff(line, *app, flags);
  AddExport(line, *app, flags);
}

}  // namespace weir
