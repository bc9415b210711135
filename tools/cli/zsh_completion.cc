#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "tools/cli/completion.h"
#include "tools/cli/option_list.h"

namespace weir {
namespace {

// Text for a single-quoted specification of _arguments.
std::string Escaped(const std::string& text) {
  return absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "'\\''"}, {"[", "\\["}, {"]", "\\]"}, {":", "\\:"}});
}

std::string ActionOf(const OptionEntry& option) {
  if (!option.choices.empty()) return absl::StrCat("(", absl::StrJoin(option.choices, " "), ")");
  if (option.is_directory) return "_files -/";
  return option.is_file ? "_files" : "";
}

std::string FunctionName(const CLI::App& command) {
  return absl::StrCat("_", absl::StrReplaceAll(FullName(command), {{" ", "_"}}));
}

// Arguments of _arguments for the options.
std::string Specifications(const CLI::App& command) {
  std::string out;
  for (const OptionGroup& group : OptionGroupsOf(command)) {
    for (const OptionEntry& option : group.options) {
      for (const std::string& name : option.names) {
        const std::string value =
            option.value.empty() ? "" : absl::StrCat(":", Escaped(option.value), ":", ActionOf(option));
        absl::StrAppend(&out, " \\\n    '", name,
                        option.value.empty() ? ""
                        : name[1] == '-'     ? "="
                                             : "+",
                        "[", Escaped(option.text), "]", value, "'");
      }
    }
  }
  return out;
}

std::string FunctionOf(const CLI::App& command) {
  std::string body, nested;
  const std::vector<const CLI::App*> subs = VisibleCommands(command);
  if (subs.empty()) {
    body = absl::StrCat("  _arguments -s", Specifications(command));
    for (const OptionEntry& option : PositionalsOf(command)) {
      const std::string action = ActionOf(option);
      absl::StrAppend(&body, " \\\n    '",
                      option.is_repeated   ? "*:"
                      : option.is_required ? ":"
                                           : "::",
                      Escaped(option.names[0]), ":", action.empty() ? " " : action, "'");
    }
    body += "\n";
  } else {
    std::string names, calls;
    for (const CLI::App* sub : subs) {
      absl::StrAppend(&names, "        '", sub->get_name(), ":", Escaped(sub->get_description()), "'\n");
      absl::StrAppend(&calls, "        ", sub->get_name(), ") ", FunctionName(*sub), " ;;\n");
      nested += FunctionOf(*sub);
    }
    body = absl::StrCat("  local context state state_descr line\n  typeset -A opt_args\n  _arguments -C",
                        Specifications(command),
                        " \\\n    '1: :->command' \\\n    '*:: :->arguments'\n  case \"$state\" in\n    command)\n"
                        "      local -a commands=(\n",
                        names, "      )\n      _describe 'command' commands\n      ;;\n    arguments)\n",
                        "      case \"$line[1]\" in\n", calls, "      esac\n      ;;\n  esac\n");
  }
  return absl::StrCat(nested, FunctionName(command), "() {\n", body, "}\n\n");
}

}  // namespace

std::string ZshCompletion(const CommandLine& line) {
  const std::string function = FunctionName(line.root());
  return absl::StrCat("#compdef ", line.root().get_name(), "\n# zsh completion: install this file as ", function,
                      " in a directory of $fpath.\n\n", FunctionOf(line.root()), "if [[ \"$funcstack[1]\" == \"",
                      function, "\" ]]; then\n  ", function, " \"$@\"\nelse\n  compdef ", function, " ",
                      line.root().get_name(), "\nfi\n");
}

}  // namespace weir
