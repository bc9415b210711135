#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "tools/cli/completion.h"
#include "tools/cli/option_list.h"

namespace weir {
namespace {

// "checkpoint list": the name without the program's.
std::string PathOf(const CLI::App& command) {
  const std::string name = FullName(command);
  const size_t space = name.find(' ');
  return space == std::string::npos ? "" : name.substr(space + 1);
}

// Offers `words`.
std::string OfferWords(const std::vector<std::string>& words) {
  return absl::StrCat("mapfile -t COMPREPLY < <(compgen -W '", absl::StrJoin(words, " "), "' -- \"$current\")");
}

// The reply for a value of `option`; empty: nothing is known about its values.
std::string Reply(const OptionEntry& option) {
  if (!option.choices.empty()) return OfferWords(option.choices);
  if (option.is_directory) return "_PROGRAM_files -d";
  if (option.is_file) return "_PROGRAM_files -f";
  return "";
}

struct BashCases {
  std::string commands;  // word that names a command
  std::string values;    // of options
  std::string words;     // commands or positionals
  std::string option_names;
};

void AddCases(const CLI::App& command, BashCases* cases) {
  const std::string path = PathOf(command);
  std::vector<std::string> names, subs;
  for (const OptionGroup& group : OptionGroupsOf(command)) {
    for (const OptionEntry& option : group.options) {
      names.insert(names.end(), option.names.begin(), option.names.end());
      if (option.value.empty()) continue;
      const std::string pattern = absl::StrJoin(option.names, " | ", [&](std::string* out, const std::string& name) {
        absl::StrAppend(out, "'", path, " ", name, "'");
      });
      const std::string reply = Reply(option);
      absl::StrAppend(&cases->values, "    ", pattern, ") ", reply, reply.empty() ? "" : "; ", "return ;;\n");
    }
  }
  absl::StrAppend(&cases->option_names, "    '", path, "') options='", absl::StrJoin(names, " "), "' ;;\n");
  for (const CLI::App* sub : VisibleCommands(command)) {
    subs.push_back(sub->get_name());
    absl::StrAppend(&cases->commands, "      '", path, " ", sub->get_name(), "') command='", PathOf(*sub), "' ;;\n");
    AddCases(*sub, cases);
  }
  std::string reply;
  if (!subs.empty()) {
    reply = OfferWords(subs);
  } else {
    for (const OptionEntry& option : PositionalsOf(command)) {
      if (reply.empty()) reply = Reply(option);
    }
  }
  if (!reply.empty()) absl::StrAppend(&cases->words, "    '", path, "') ", reply, " ;;\n");
}

}  // namespace

std::string BashCompletion(const CommandLine& line) {
  BashCases cases;
  AddCases(line.root(), &cases);
  const std::string script = absl::StrCat(
      R"(# bash completion for PROGRAM: source this file, or install it as bash-completion/completions/PROGRAM.

_PROGRAM_files() {
  compopt -o filenames 2> /dev/null || true
  mapfile -t COMPREPLY < <(compgen "$1" -- "$current")
}

_PROGRAM() {
  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}" command="" options="" i
  COMPREPLY=()
  # Bash makes words of "--option=value" at the "=".
  if [[ "$current" == "=" ]]; then
    current=""
  elif [[ "$previous" == "=" ]]; then
    previous="${COMP_WORDS[COMP_CWORD-2]}"
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [[ "${COMP_WORDS[i]}" == "--" ]]; then  # a program and its arguments
      if ((i + 1 == COMP_CWORD)); then
        _PROGRAM_files -c
      else
        _PROGRAM_files -f
      fi
      return
    fi
    case "$command ${COMP_WORDS[i]}" in
)",
      cases.commands, R"(    esac
  done
  case "$command $previous" in
)",
      cases.values, R"(  esac
  if [[ "$current" == -* ]]; then
    case "$command" in
)",
      cases.option_names, R"(    esac
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
    return
  fi
  case "$command" in
)",
      cases.words, R"(  esac
}

complete -F _PROGRAM PROGRAM
)");
  return absl::StrReplaceAll(script, {{"PROGRAM", line.root().get_name()}});
}

}  // namespace weir
