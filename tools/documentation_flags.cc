#include <iostream>
#include <memory>

#include "core/files/file_system.h"
#include "tools/cli/completion.h"
#include "tools/cli/man_page.h"
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

void AddCompletion(CommandLine& line) {
  auto shell = std::make_shared<std::string>();
  CLI::App* const app =
      line.Add(line.root(), "completion", "Print a script that completes weir's commands and flags in a shell",
               {.examples = {{"source <(weir completion bash)", "For this bash; ~/.bashrc makes it permanent"},
                             {"weir completion zsh > ~/.zfunc/_weir", "For zsh, if ~/.zfunc is in $fpath"},
                             {"weir completion fish > ~/.config/fish/completions/weir.fish", "For fish"}},
                .exit_codes = {{"0", "Success."}, {"2", "There is no script for the shell."}}});
  AddChoice(*app, "SHELL", *shell, {"bash", "zsh", "fish"}, "The shell: bash, zsh or fish")->required();
  line.Runs(app, [&line, shell] {
    std::cout << (*shell == "bash"  ? BashCompletion(line)
                  : *shell == "zsh" ? ZshCompletion(line)
                                    : FishCompletion(line));
    return CommandLine::kSuccess;
  });
}

absl::Status WriteDocumentation(const CommandLine& line, const std::string& directory) {
  const std::unique_ptr<FileSystem> files = NewPosixFileSystem();
  const std::string man = JoinPath(directory, "man"), completion = JoinPath(directory, "completion");
  RETURN_IF_ERROR(files->CreateDir(man));
  RETURN_IF_ERROR(files->CreateDir(completion));
  for (const ManPage& page : ManPages(line)) {
    RETURN_IF_ERROR(WriteStringToFile(files.get(), JoinPath(man, absl::StrCat(page.name, ".1")), page.text));
  }
  RETURN_IF_ERROR(WriteStringToFile(files.get(), JoinPath(completion, "weir.bash"), BashCompletion(line)));
  RETURN_IF_ERROR(WriteStringToFile(files.get(), JoinPath(completion, "_weir"), ZshCompletion(line)));
  return WriteStringToFile(files.get(), JoinPath(completion, "weir.fish"), FishCompletion(line));
}

void AddWriteDocumentation(CommandLine& line) {
  auto directory = std::make_shared<std::string>();
  CLI::App* const app = line.AddHidden(line.root(), "write-documentation",
                                       "Write man pages to DIR/man and completions to DIR/completion");
  app->add_option("DIR", *directory, "A directory")->required()->type_name("DIR");
  line.Runs(app, [&line, directory] { return ExitCodeOf(WriteDocumentation(line, *directory)); });
}

}  // namespace

void AddDocumentationCommands(CommandLine& line) {
  AddHelp(line);
  AddVersion(line);
  AddCompletion(line);
  AddWriteDocumentation(line);
}

}  // namespace weir
