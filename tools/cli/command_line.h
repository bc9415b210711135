// A program with commands: their flags, their documentation, and errors that say what to do.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace weir {

// What --help and the man page of a command show besides its flags.
struct CommandDocs {
  struct Example {
    std::string command;
    std::string explanation;
  };
  struct ExitCode {
    std::string code;
    std::string meaning;
  };
  struct Section {
    std::string title;
    std::string text;  // paragraphs, separated by empty lines
  };

  std::string usage;        // what follows the command's name; empty: made from the flags
  std::string description;  // paragraphs, for the man page
  std::vector<Example> examples;
  std::vector<ExitCode> exit_codes;
  std::vector<Section> sections;  // of the man page alone
};

// Not thread-safe. Flags may refer to variables that the function given to Runs owns.
class CommandLine {
 public:
  static constexpr int kSuccess = 0;
  static constexpr int kFailed = 1;
  static constexpr int kBadUsage = 2;

  CommandLine(const std::string& name, const std::string& summary, const std::string& version, CommandDocs docs);
  CommandLine(const CommandLine&) = delete;

  CLI::App& root() { return root_; }
  const CLI::App& root() const { return root_; }
  // A command of `parent`, which is root() or another command.
  CLI::App* Add(CLI::App& parent, const std::string& name, const std::string& summary, CommandDocs docs);
  // As Add, for a command that neither help nor completion shows.
  CLI::App* AddHidden(CLI::App& parent, const std::string& name, const std::string& summary);
  // `run` returns the exit code.
  void Runs(CLI::App* command, std::function<int()> run);

  // Parses and runs a command, or prints help or an error. Returns the exit code.
  int Run(int argc, const char* const* argv, std::ostream& out, std::ostream& err);

  const CommandDocs& docs(const CLI::App& command) const;
  std::string version() const { return version_; }
  std::string HelpOf(const CLI::App& command) const;

 private:
  int Report(const CLI::ParseError& error, std::ostream& err) const;
  // The command that the arguments have named so far.
  const CLI::App& Chosen() const;

  const std::string version_;
  CLI::App root_;
  std::map<const CLI::App*, CommandDocs> docs_;
  std::function<int()> chosen_;
};

// "weir checkpoint list".
std::string FullName(const CLI::App& command);
// The commands of `command` that help shows.
std::vector<const CLI::App*> VisibleCommands(const CLI::App& command);

// An option whose value is one of `choices`; completions offer them.
CLI::Option* AddChoice(CLI::App& command, const std::string& name, std::string& value,
                       const std::vector<std::string>& choices, const std::string& description);

// The one of `candidates` that `word` was probably meant to be; empty if none is close.
std::string Nearest(absl::string_view word, const std::vector<std::string>& candidates);

}  // namespace weir
