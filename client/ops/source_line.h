// Lines of the program that builds a graph, for error messages.
#pragma once

#include <cstdint>
#include <string>

#include "core/api.h"

namespace WEIR_API weir {

// A line of a source file, or unknown. Cheap to copy; refers to the compiler's string.
struct SourceLine {
  // As a default argument: the line of the call. (Clang 14 has no std::source_location.)
  static constexpr SourceLine Here(const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE()) {
    return {.file = file, .line = line};
  }

  bool known() const { return line != 0; }
  // "model.cc:12"
  std::string ToString() const;

  const char* file = "";
  uint32_t line = 0;
};

}  // namespace weir
