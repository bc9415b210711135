#include "tools/command_flags.h"

#include <iostream>

namespace weir {

int ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return CommandLine::kSuccess;
  std::cerr << "weir: " << status.ToString(absl::StatusToStringMode::kWithNoExtraData) << "\n";
  return CommandLine::kFailed;
}

int UsageExitCodeOf(const absl::Status& status) {
  const int code = ExitCodeOf(status);
  return absl::IsInvalidArgument(status) ? CommandLine::kBadUsage : code;
}

std::vector<CommandDocs::ExitCode> UsualExitCodes() {
  return {{"0", "Success."}, {"1", "The command failed; the reason is on standard error."}, {"2", "Wrong usage."}};
}

CLI::Validator NotNegative() {
  const auto check = [](const std::string& text) {
    return !text.empty() && text.front() == '-' ? "'" + text + "' is negative" : std::string();
  };
  return CLI::Validator(check, "", "not negative");
}

}  // namespace weir
