// Man pages, made from the same definitions as --help.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tools/cli/command_line.h"

namespace weir {

// A page in roff.
struct ManPage {
  std::string name;  // "weir-server": its file is weir-server.1
  std::string text;
};

// One page for the program and one for each of its commands, which also describes that command's own commands.
std::vector<ManPage> ManPages(const CommandLine& line);

// `text` so that roff prints it as it is.
std::string EscapeRoff(absl::string_view text);

}  // namespace weir
