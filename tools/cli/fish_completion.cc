#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "tools/cli/completion.h"
#include "tools/cli/option_list.h"

namespace weir {
namespace {

std::string FishQuoted(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}}), "'");
}

std::string Names(const std::vector<const CLI::App*>& commands) {
  return absl::StrJoin(commands, " ",
                       [](std::string* out, const CLI::App* command) { absl::StrAppend(out, command->get_name()); });
}

// Adds what to complete if `condition`, an expression of fish, holds: the command line has named `command`, no more.
void AddCompletions(const CLI::App& command, const std::string& condition, std::string* out) {
  const std::string program = FullName(command).substr(0, FullName(command).find(' '));
  const std::string begin = absl::StrCat("complete -c ", program, " -n ", FishQuoted(condition));
  const std::vector<const CLI::App*> subs = VisibleCommands(command);
  for (const CLI::App* sub : subs) {
    absl::StrAppend(out, begin, " -a ", sub->get_name(), " -d ", FishQuoted(sub->get_description()), "\n");
  }
  bool has_files = false;
  for (const OptionEntry& option : PositionalsOf(command)) has_files = has_files || option.is_file;
  if (has_files) absl::StrAppend(out, begin, " -F\n");
  for (const OptionGroup& group : OptionGroupsOf(command)) {
    for (const OptionEntry& option : group.options) {
      absl::StrAppend(out, begin);
      for (const std::string& name : option.names) {
        absl::StrAppend(out, name[1] == '-' ? " -l " : " -s ", name.substr(name[1] == '-' ? 2 : 1));
      }
      if (option.is_directory) {
        absl::StrAppend(out, " -x -a '(__fish_complete_directories)'");
      } else if (option.is_file) {
        absl::StrAppend(out, " -r -F");
      } else if (!option.value.empty()) {
        absl::StrAppend(out, " -x");
        if (!option.choices.empty()) absl::StrAppend(out, " -a ", FishQuoted(absl::StrJoin(option.choices, " ")));
      }
      absl::StrAppend(out, " -d ", FishQuoted(option.text), "\n");
    }
  }
  const bool is_root = command.get_parent() == nullptr;
  for (const CLI::App* sub : subs) {
    std::string inner =
        absl::StrCat(is_root ? "" : absl::StrCat("__fish_seen_subcommand_from ", command.get_name(), "; and "),
                     "__fish_seen_subcommand_from ", sub->get_name());
    if (const auto nested = VisibleCommands(*sub); !nested.empty()) {
      absl::StrAppend(&inner, "; and not __fish_seen_subcommand_from ", Names(nested));
    }
    AddCompletions(*sub, inner, out);
  }
}

}  // namespace

std::string FishCompletion(const CommandLine& line) {
  const std::string program = line.root().get_name();
  std::string out = absl::StrCat("# fish completion for ", program, ": install this file as completions/", program,
                                 ".fish.\ncomplete -c ", program, " -f\n");
  AddCompletions(line.root(), "__fish_use_subcommand", &out);
  return out;
}

}  // namespace weir
