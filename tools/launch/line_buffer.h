// Bytes as they come, into lines.
#pragma once

#include <cstddef>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"

namespace weir {

// Keeps what is not yet a whole line. A line that grows beyond kMaxLine is cut into several.
class LineBuffer {
 public:
  using Sink = absl::FunctionRef<void(absl::string_view line)>;  // without its end
  static constexpr size_t kMaxLine = 64 << 10;

  void Append(absl::string_view bytes, Sink sink);
  // What is left is the last line, if there is any.
  void Finish(Sink sink);

 private:
  std::string rest_;
};

}  // namespace weir
