// Completion scripts for shells, made from the same definitions as --help.
#pragma once

#include <string>

#include "tools/cli/command_line.h"

namespace weir {

// Each script is complete: it needs no files of the program, and no package of the shell.
std::string BashCompletion(const CommandLine& line);
std::string ZshCompletion(const CommandLine& line);
std::string FishCompletion(const CommandLine& line);

}  // namespace weir
