#include "tools/cli/option_list.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tools/cli/command_line.h"

namespace weir {
namespace {

constexpr char kGeneral[] = "Options";  // the group that CLI11 gives to options without one

// Type names without CLI11's descriptions of validators.
std::string ValueName(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

OptionEntry EntryOf(const CLI::Option& option) {
  OptionEntry entry;
  if (option.get_positional()) {
    entry.names.push_back(option.get_name(true));
  } else {
    for (const std::string& name : option.get_snames()) entry.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) entry.names.push_back("--" + name);
  }
  const bool takes_value = option.get_items_expected_max() != 0;
  const std::string value = takes_value ? ValueName(option) : "";
  entry.is_directory = value == "DIR";
  entry.is_file = value == "FILE" || value == "PATH" || entry.is_directory;
  if (value.find('|') != std::string::npos) entry.choices = absl::StrSplit(value, '|');
  if (!option.get_positional()) entry.value = value;
  entry.is_repeated = option.get_expected_max() > 1;
  entry.is_required = option.get_required();
  entry.text = option.get_description();
  if (takes_value && !option.get_default_str().empty() && !entry.is_repeated) {
    absl::StrAppend(&entry.text, " (default: ", option.get_default_str(), ")");
  }
  if (entry.is_required && !option.get_positional()) entry.text += " (required)";
  return entry;
}

}  // namespace

std::vector<OptionEntry> PositionalsOf(const CLI::App& command) {
  std::vector<OptionEntry> entries;
  for (const CLI::Option* option :
       command.get_options([](const CLI::Option* o) { return o->get_positional() && !o->get_group().empty(); })) {
    entries.push_back(EntryOf(*option));
  }
  return entries;
}

std::vector<OptionGroup> OptionGroupsOf(const CLI::App& command) {
  std::vector<OptionGroup> groups;
  OptionGroup general{.title = kGeneral};
  for (const CLI::Option* option :
       command.get_options([](const CLI::Option* o) { return o->nonpositional() && !o->get_group().empty(); })) {
    if (option->get_group() == kGeneral) {
      // --help is defined first.
      const bool is_help = option == command.get_help_ptr();
      general.options.insert(is_help || general.options.empty() ? general.options.end() : general.options.end() - 1,
                             EntryOf(*option));
      continue;
    }
    const auto found = std::find_if(groups.begin(), groups.end(),
                                    [&](const OptionGroup& group) { return group.title == option->get_group(); });
    OptionGroup& group = found != groups.end() ? *found : groups.emplace_back(OptionGroup{option->get_group(), {}});
    group.options.push_back(EntryOf(*option));
  }
  if (!general.options.empty()) groups.push_back(std::move(general));
  return groups;
}

std::string UsageOf(const CLI::App& command, const std::string& usage) {
  std::string line = FullName(command);
  if (!usage.empty()) return absl::StrCat(line, " ", usage);
  line += " [OPTION]...";
  if (!VisibleCommands(command).empty()) line += " COMMAND";
  for (const OptionEntry& entry : PositionalsOf(command)) {
    const std::string name = absl::StrCat(entry.names[0], entry.is_repeated ? "..." : "");
    absl::StrAppend(&line, " ", entry.is_required ? name : absl::StrCat("[", name, "]"));
  }
  return line;
}

}  // namespace weir
