// Proofs with real processes; docs/chaos.md describes the measures.
//   chaos kill --weir weir [--runs 200] [--seed 1]
#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>

#include "absl/strings/str_cat.h"
#include "distribute/cluster/emulated_network.h"
#include "tests/chaos/chief.h"
#include "tests/chaos/client_process.h"
#include "tests/chaos/measures.h"

namespace weir::chaos {
namespace {

using Measure = std::function<absl::StatusOr<Verdict>(const Settings&)>;

absl::StatusOr<Verdict> RunMeasure(const Measure& measure, Settings settings) {
  const bool temporary = settings.directory.empty();
  if (temporary) {
    settings.directory = (std::filesystem::temp_directory_path() / "weir-chaos-XXXXXX").string();
    if (mkdtemp(settings.directory.data()) == nullptr) return errors::Internal("cannot create ", settings.directory);
  }
  std::filesystem::create_directories(settings.directory);
  const absl::StatusOr<Verdict> verdict = measure(settings);
  if (verdict.ok() && *verdict != Verdict::kBroken && temporary) std::filesystem::remove_all(settings.directory);
  return verdict;
}

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "chaos: %s\n", status.ToString(absl::StatusToStringMode::kWithNoExtraData).c_str());
  return 1;
}

int Main(int argc, char** argv) {
  CLI::App app("Disturbs real processes and measures what follows.");
  app.require_subcommand(1);
  Settings settings;
  Measure chosen;
  const auto add = [&](const std::string& name, const std::string& help, Measure measure) {
    CLI::App* command = app.add_subcommand(name, help);
    command->add_option("--weir", settings.weir, "path of the weir program")->required();
    command->add_option("--seed", settings.seed, "of all random choices");
    command->add_option("--directory", settings.directory, "for logs and checkpoints; default: a temporary one");
    command->add_flag("--short", settings.brief, "seconds instead of minutes");
    command->callback([&chosen, measure = std::move(measure)] { chosen = measure; });
    return command;
  };
  const auto add_runs = [&](CLI::App* command) { command->add_option("--runs", settings.runs, "number of runs"); };
  add_runs(add("kill", "SIGKILL to each role of a job", MeasureKill));
  add_runs(add("save", "SIGKILL during a save, and flipped bits in checkpoints", MeasureSave));
  add("partition", "cuts between hosts, and suspended tasks", MeasurePartition);
  add("culprit", "time until an error names a lost task", MeasureCulprit);
  add_runs(add("return", "time from a task's return to the next step", MeasureReturn));
  add("clients", "clients and masters that die in mid-step", MeasureClients)
      ->add_option("--count", settings.runs, "number of sessions");
  add_runs(add("join", "workers that join and leave", MeasureJoin));
  add_runs(add("fail_over", "parameter servers that are lost, with standbys", MeasureFailOver));
  CLI::App* const deal = add("deal", "input that is dealt to workers that join, stop, leave and die", MeasureDeal);
  deal->add_option("--rounds,--runs", settings.runs, "number of trainings");
  add("regroup", "workers that train together, and join, leave and die", MeasureRegroup)
      ->add_option("--rounds", settings.runs, "number of rounds");
  add("soak", "random faults for a long time", MeasureSoak)->add_option("--minutes", settings.minutes, "how long");

  ChiefOptions chief;
  CLI::App* chief_command = app.add_subcommand("chief", "runs the job; started by the measures");
  chief_command->add_option("--target", chief.target)->required();
  chief_command->add_option("--directory", chief.directory)->required();
  chief_command->add_option("--steps", chief.steps)->required();
  chief_command->add_option("--checkpoint-steps", chief.checkpoint_steps)->required();
  chief_command->add_flag("--background", chief.background);
  ClientProcessOptions client;
  CLI::App* client_command = app.add_subcommand("client", "opens sessions; started by the measures");
  client_command->add_option("--target", client.target)->required();
  client_command->add_option("--ready-file", client.ready_file)->required();
  client_command->add_option("--brief", client.brief)->required();
  client_command->add_option("--waiting", client.waiting)->required();
  pid_t holder = 0;
  std::vector<std::string> program;
  CLI::App* enter_command = app.add_subcommand("enter", "runs a program on a host; started by the measures");
  enter_command->add_option("pid", holder)->required();
  enter_command->add_option("program", program)->required();
  CLI11_PARSE(app, argc, argv);

  if (chief_command->parsed()) {
    const absl::Status status = RunChief(chief);
    return status.ok() ? 0 : Fail(status);
  }
  if (client_command->parsed()) return Fail(RunClientProcess(client));
  if (enter_command->parsed()) return Fail(EnterNamespaceAndRun(holder, program));
  const absl::StatusOr<Verdict> verdict = RunMeasure(chosen, settings);
  if (!verdict.ok()) return Fail(verdict.status());
  return static_cast<int>(*verdict);
}

}  // namespace
}  // namespace weir::chaos

int main(int argc, char** argv) { return weir::chaos::Main(argc, argv); }
