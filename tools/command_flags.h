// The commands of the weir program. Each function adds one, with its flags and documentation.
#pragma once

#include <functional>

#include "core/status.h"
#include "tools/cli/command_line.h"

namespace weir {

void AddServerCommand(CommandLine& line);
void AddLaunchCommand(CommandLine& line);
void AddStatusCommand(CommandLine& line);
void AddTopCommand(CommandLine& line);
void AddTraceCommand(CommandLine& line);
void AddProbeCommand(CommandLine& line);
void AddMembershipCommands(CommandLine& line);
void AddResolveCommand(CommandLine& line);
void AddCheckpointCommand(CommandLine& line);
void AddModelCommand(CommandLine& line);
void AddGraphCommand(CommandLine& line);
void AddOpsCommand(CommandLine& line);
// help, version, completion, and the command with which the build writes man pages and completions.
void AddDocumentationCommands(CommandLine& line);

// Prints an error to standard error and returns the exit code.
int ExitCodeOf(const absl::Status& status);
// The same for commands whose InvalidArgument can only be the user's error.
int UsageExitCodeOf(const absl::Status& status);

// The exit codes of most commands.
std::vector<CommandDocs::ExitCode> UsualExitCodes();

// For numbers that must not be negative.
CLI::Validator NotNegative();

}  // namespace weir
