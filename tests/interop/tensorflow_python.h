// Python scripts that need TensorFlow, for test programs with a main of their own.
#pragma once

#include <string>

namespace weir {

// The exit code of a program whose tests are skipped.
inline constexpr int kTestsSkipped = 77;

// Whether WEIR_TF_PYTHON names an interpreter; if not, prints that the tests are skipped.
bool HasTensorFlow();

// Runs "SCRIPT COMMAND DIRECTORY" in that interpreter; returns whether it ended with 0.
bool RunWithTensorFlow(const char* script, const std::string& command, const std::string& directory);

}  // namespace weir
