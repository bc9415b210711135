// Lines of the program that builds a graph, for error messages.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>

#include "core/api.h"

namespace WEIR_API weir {

// A line of a source file, or unknown. Cheap to copy; refers to the compiler's string.
struct SourceLine {
  SourceLine() = default;
  SourceLine(const std::source_location& location)  // NOLINT(google-explicit-constructor)
      : file(location.file_name()), line(location.line()) {}

  bool known() const { return line != 0; }
  // "model.cc:12"
  std::string ToString() const;

  const char* file = "";
  uint32_t line = 0;
};

}  // namespace weir
