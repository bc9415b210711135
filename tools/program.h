// The weir program as a function. The installed program is this alone: it shares the library, and so the registries,
// with the plug-ins that it loads.
#pragma once

#include "core/api.h"

namespace WEIR_API weir {

// Runs the command line and returns the exit code. For main: changes the process's signals and standard files.
int RunProgram(int argc, char** argv);

}  // namespace weir
