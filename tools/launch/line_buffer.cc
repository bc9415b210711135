#include "tools/launch/line_buffer.h"

#include <algorithm>

namespace weir {

void LineBuffer::Append(absl::string_view bytes, Sink sink) {
  while (!bytes.empty()) {
    const absl::string_view line = bytes.substr(0, bytes.find('\n'));
    const bool whole = line.size() < bytes.size();
    const size_t taken = std::min(line.size(), kMaxLine - rest_.size());
    rest_.append(line.data(), taken);
    if (taken == line.size() && !whole) return;
    sink(rest_);
    rest_.clear();
    bytes.remove_prefix(taken == line.size() ? taken + 1 : taken);
  }
}

void LineBuffer::Finish(Sink sink) {
  if (rest_.empty()) return;
  sink(rest_);
  rest_.clear();
}

}  // namespace weir
