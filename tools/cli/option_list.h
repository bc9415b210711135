// The options of a command, in the form that help, man pages and completions show.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace weir {

struct OptionEntry {
  std::vector<std::string> names;    // "-n", "--workers"; of a positional "PATH"
  std::string value;                 // "N", "text|json"; empty for a flag, and for a positional
  std::string text;                  // with the default and whether it is required
  std::vector<std::string> choices;  // the possible values, if there are few
  bool is_file = false;              // the value is a file or a directory
  bool is_directory = false;
  bool is_repeated = false;
  bool is_required = false;
};

struct OptionGroup {
  std::string title;
  std::vector<OptionEntry> options;
};

std::vector<OptionEntry> PositionalsOf(const CLI::App& command);
// In the order of definition; the group of --help comes last.
std::vector<OptionGroup> OptionGroupsOf(const CLI::App& command);
// "weir checkpoint show [OPTION]... PATH [NAME...]"; `usage` (may be empty) replaces what follows the name.
std::string UsageOf(const CLI::App& command, const std::string& usage);

}  // namespace weir
