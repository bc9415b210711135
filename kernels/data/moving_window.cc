#include "kernels/data/moving_window.h"

#include <algorithm>
#include <limits>

namespace weir {

absl::Status WindowOptions::Check(absl::string_view stride_name) {
  if (size <= 0) return errors::InvalidArgument("Window size must be greater than zero.");
  if (shift <= 0) return errors::InvalidArgument("Window shift must be greater than zero.");
  if (stride <= 0) return errors::InvalidArgument(stride_name, " must be greater than zero.");
  span = MultiplyWithoutOverflow(size - 1, stride);
  if (span < 0 || span == std::numeric_limits<int64_t>::max()) {
    return errors::InvalidArgument("A window of size ", size, " and stride ", stride, " is too large");
  }
  ++span;
  return absl::OkStatus();
}

int64_t WindowOptions::Cardinality(int64_t n) const {
  if (n < 0) return n;
  if (drop_remainder) return n < span ? 0 : (n - span) / shift + 1;
  return n / shift + (n % shift != 0 ? 1 : 0);
}

absl::StatusOr<bool> MovingWindow::Fill(IteratorContext& ctx, IteratorBase& input, const DataTypeVector& types) {
  while (static_cast<int64_t>(buffer_.size()) < options_.span) {
    Element next;
    ASSIGN_OR_RETURN(const bool more, input.GetNext(ctx, &next));
    if (!more) break;
    RETURN_IF_ERROR(CheckElement(next, types));
    RETURN_IF_ERROR(limit_.Add(next, "a window"));
    buffer_.push_back(std::move(next));
  }
  const auto held = static_cast<int64_t>(buffer_.size());
  return held > 0 && (!options_.drop_remainder || held >= options_.span);
}

std::vector<Element> MovingWindow::Seen() const {
  std::vector<Element> seen;
  for (size_t i = 0; i < buffer_.size(); i += options_.stride) seen.push_back(buffer_[i]);
  return seen;
}

absl::Status MovingWindow::Advance(IteratorContext& ctx, IteratorBase& input) {
  const auto held = static_cast<int64_t>(buffer_.size());
  for (int64_t i = 0; i < std::min(options_.shift, held); ++i) {
    limit_.Remove(buffer_.front());
    buffer_.pop_front();
  }
  for (int64_t i = held; i < options_.shift; ++i) {
    Element skipped;
    ASSIGN_OR_RETURN(const bool more, input.GetNext(ctx, &skipped));
    if (!more) break;
  }
  return absl::OkStatus();
}

absl::Status MovingWindow::Restore(const StateReader& reader, const DataTypeVector& types) {
  RETURN_IF_ERROR(RestoreElements(reader, "buffer", types, &buffer_));
  limit_.Clear();
  for (const Element& element : buffer_) RETURN_IF_ERROR(limit_.Add(element, "a window"));
  return absl::OkStatus();
}

}  // namespace weir
