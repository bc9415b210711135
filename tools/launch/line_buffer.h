// Splits a byte stream into lines.
#pragma once

#include <cstddef>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"

namespace weir {

// Buffers an incomplete line. A line longer than kMaxLine is split.
class LineBuffer {
 public:
  using Sink = absl::FunctionRef<void(absl::string_view line)>;  // without the line end
  static constexpr size_t kMaxLine = 64 << 10;

  void Append(absl::string_view bytes, Sink sink);
  // Emits the rest as the last line, if there is any.
  void Finish(Sink sink);

 private:
  std::string rest_;
};

}  // namespace weir
