#include <iostream>
#include <memory>

#include "tools/command_flags.h"

namespace weir {
namespace {

void AddHelp(CommandLine& line) {
  auto names = std::make_shared<std::vector<std::string>>();
  CLI::App* const app =
      line.Add(line.root(), "help", "Show the help of a command",
               {.examples = {{"weir help checkpoint show", "The same as weir checkpoint show --help"}},
                .exit_codes = {{"0", "Success."}, {"2", "There is no such command."}}});
  app->add_option("COMMAND", *names, "The command; default: the program itself");
  line.Runs(app, [&line, names] {
    const CLI::App* command = &line.root();
    for (const std::string& name : *names) {
      const auto subs = command->get_subcommands([&](const CLI::App* sub) { return sub->get_name() == name; });
      if (subs.empty()) {
        std::cerr << "weir help: " << FullName(*command) << " has no command '" << name << "'\nRun '"
                  << FullName(*command) << " --help' to see what it has.\n";
        return CommandLine::kBadUsage;
      }
      command = subs.front();
    }
    std::cout << line.HelpOf(*command);
    return CommandLine::kSuccess;
  });
}

void AddVersion(CommandLine& line) {
  CLI::App* const app = line.Add(line.root(), "version", "Print the version",
                                 {.examples = {{"weir version", ""}}, .exit_codes = {{"0", "Success."}}});
  line.Runs(app, [&line] {
    std::cout << "weir " << line.version() << "\n";
    return CommandLine::kSuccess;
  });
}

}  // namespace

void AddDocumentationCommands(CommandLine& line) {
  AddHelp(line);
  AddVersion(line);
}

}  // namespace weir
