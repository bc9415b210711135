#include "tools/cli/help_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tools/cli/option_list.h"

namespace weir {
namespace {

constexpr int kWidth = 80;
constexpr int kNames = 26;  // the column at which texts begin

// Columns on a terminal, for text without combining or wide characters.
int Columns(absl::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](unsigned char c) { return (c & 0xC0) != 0x80; }));
}

// A name, and its text at kNames.
std::string Row(const std::string& name, const std::string& text) {
  std::string row = "  " + name;
  const std::string lines = Wrapped(text, kNames, kWidth);
  if (lines.empty()) return row + "\n";
  if (Columns(row) + 2 > kNames) return absl::StrCat(row, "\n", lines);
  row.append(kNames - Columns(row), ' ');
  return row + lines.substr(kNames);
}

std::string Row(const OptionEntry& option) {
  const std::string names = absl::StrJoin(option.names, ", ");
  return Row(option.value.empty() ? names : absl::StrCat(names, " ", option.value), option.text);
}

std::string Commands(const CLI::App& command) {
  const std::vector<const CLI::App*> commands = VisibleCommands(command);
  if (commands.empty()) return "";
  std::string text = "\nCommands:\n";
  for (const CLI::App* sub : commands) text += Row(sub->get_name(), sub->get_description());
  return text;
}

}  // namespace

std::string Wrapped(absl::string_view text, int indent, int width) {
  std::string out, line;
  for (const absl::string_view word : absl::StrSplit(text, absl::ByAnyChar(" \n"), absl::SkipEmpty())) {
    if (!line.empty() && indent + Columns(line) + 1 + Columns(word) > width) {
      absl::StrAppend(&out, std::string(indent, ' '), line, "\n");
      line.clear();
    }
    absl::StrAppend(&line, line.empty() ? "" : " ", word);
  }
  if (!line.empty()) absl::StrAppend(&out, std::string(indent, ' '), line, "\n");
  return out;
}

std::string HelpText(const CommandLine& line, const CLI::App& command) {
  const CommandDocs& docs = line.docs(command);
  std::string text = absl::StrCat("Usage: ", UsageOf(command, docs.usage), "\n\n",
                                  Wrapped(absl::StrCat(command.get_description(), "."), 0, kWidth));
  text += Commands(command);
  if (const auto positionals = PositionalsOf(command); !positionals.empty()) {
    text += "\nArguments:\n";
    for (const OptionEntry& option : positionals) text += Row(option);
  }
  for (const OptionGroup& group : OptionGroupsOf(command)) {
    absl::StrAppend(&text, "\n", group.title, ":\n");
    for (const OptionEntry& option : group.options) text += Row(option);
  }
  if (!docs.examples.empty()) text += docs.examples.size() == 1 ? "\nExample:\n" : "\nExamples:\n";
  for (const CommandDocs::Example& example : docs.examples) {
    absl::StrAppend(&text, "  ", example.command, "\n");
    if (!example.explanation.empty()) text += Wrapped(example.explanation, 6, kWidth);
  }
  if (!docs.exit_codes.empty()) text += "\nExit status:\n";
  for (const CommandDocs::ExitCode& exit : docs.exit_codes) text += Row(exit.code, exit.meaning);
  if (command.get_parent() == nullptr) {
    absl::StrAppend(&text, "\n'", FullName(command), " COMMAND --help' shows the options of a command.\n");
  }
  return text;
}

}  // namespace weir
