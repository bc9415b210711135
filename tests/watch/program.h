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

// Standard output only. After `interrupt_after`, SIGINT is sent; after two minutes, SIGKILL.
ProgramResult RunProgram(const std::vector<std::string>& arguments,
                         absl::Duration interrupt_after = absl::InfiniteDuration());

}  // namespace weir
