// A window that moves over the elements of an iterator.
#pragma once

#include <deque>
#include <vector>

#include "kernels/data/dataset.h"
#include "kernels/data/element_buffer.h"

namespace weir {

struct WindowOptions {
  int64_t size = 1, shift = 1, stride = 1;
  bool drop_remainder = true;
  int64_t span = 1;  // (size - 1) * stride + 1, by Check

  // Sets span. InvalidArgument for numbers below one, and where the window would be too large; `stride_name` is how the
  // error calls the stride.
  absl::Status Check(absl::string_view stride_name);
  // Of the windows over an input of cardinality n.
  int64_t Cardinality(int64_t n) const;
};

// What an iterator over windows holds. Not thread-safe.
class MovingWindow {
 public:
  explicit MovingWindow(const WindowOptions& options) : options_(options) {}

  // Reads on until the window is full or the input at its end; false where there is no window left.
  absl::StatusOr<bool> Fill(IteratorContext& ctx, IteratorBase& input, const DataTypeVector& types);
  // The elements that are seen, every stride-th of those held.
  std::vector<Element> Seen() const;
  // Moves on by the shift, also past what was not read yet.
  absl::Status Advance(IteratorContext& ctx, IteratorBase& input);

  void Save(StateWriter writer) const { SaveElements(writer, "buffer", buffer_); }
  absl::Status Restore(const StateReader& reader, const DataTypeVector& types);

 private:
  const WindowOptions& options_;
  std::deque<Element> buffer_;
  BufferLimit limit_;
};

}  // namespace weir
