// Runs programs and keeps what they print.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"

namespace weir {

struct ProgramResult {
  int code = -1;  // 128 + the signal's number if one ended it
  std::string output;
};

// Standard output only. With `interrupt`, SIGINT is sent after its first output; after two minutes, SIGKILL.
ProgramResult RunProgram(const std::vector<std::string>& arguments, bool interrupt = false);

}  // namespace weir
