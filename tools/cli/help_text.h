// The text of --help.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "tools/cli/command_line.h"

namespace weir {

std::string HelpText(const CommandLine& line, const CLI::App& command);

// `text` in lines of at most `width` columns, each with `indent` spaces before it. A longer word gets a line of its
// own.
std::string Wrapped(absl::string_view text, int indent, int width);

}  // namespace weir
