#include "kernels/data/transformations/moving_window.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <utility>

#include "kernels/data/element_buffer.h"

namespace weir {
namespace {

// What an iterator over windows holds. Not thread-safe.
class MovingWindow {
 public:
  explicit MovingWindow(const WindowOptions& options) : options_(options) {}

  // Reads on until the window is full or the input at its end; false where there is no window left.
  absl::StatusOr<bool> Fill(IteratorContext& ctx, IteratorBase& input, const DataTypeVector& types);
  // The elements that are seen, every stride-th of those held; the error of the first that has one.
  absl::StatusOr<std::vector<Element>> Seen() const;
  // Moves on by the shift, also past what was not read yet.
  absl::Status Advance(IteratorContext& ctx, IteratorBase& input);

  void Save(StateWriter writer) const;
  absl::Status Restore(const StateReader& reader, const DataTypeVector& types);

 private:
  // An element, or the error that the input gave in its place.
  struct Slot {
    Element element;
    absl::Status status;
  };

  const WindowOptions& options_;
  std::deque<Slot> buffer_;
  BufferLimit limit_;
};

absl::StatusOr<bool> MovingWindow::Fill(IteratorContext& ctx, IteratorBase& input, const DataTypeVector& types) {
  while (static_cast<int64_t>(buffer_.size()) < options_.span) {
    Slot slot;
    absl::StatusOr<bool> more = input.GetNext(ctx, &slot.element);
    if (!more.ok()) {
      if (!options_.errors_take_a_place) return more;
      RETURN_IF_ERROR(ctx.CheckCancelled());
      slot = {{}, more.status()};
    } else if (!*more) {
      break;
    } else {
      RETURN_IF_ERROR(CheckElement(slot.element, types));
    }
    RETURN_IF_ERROR(limit_.Add(slot.element, "a window"));
    buffer_.push_back(std::move(slot));
  }
  const auto held = static_cast<int64_t>(buffer_.size());
  return held > 0 && (!options_.drop_remainder || held >= options_.span);
}

absl::StatusOr<std::vector<Element>> MovingWindow::Seen() const {
  std::vector<Element> seen;
  for (size_t i = 0; i < buffer_.size(); i += options_.stride) {
    RETURN_IF_ERROR(buffer_[i].status);
    seen.push_back(buffer_[i].element);
  }
  return seen;
}

absl::Status MovingWindow::Advance(IteratorContext& ctx, IteratorBase& input) {
  const auto held = static_cast<int64_t>(buffer_.size());
  for (int64_t i = 0; i < std::min(options_.shift, held); ++i) {
    limit_.Remove(buffer_.front().element);
    buffer_.pop_front();
  }
  for (int64_t i = held; i < options_.shift; ++i) {
    Element skipped;
    absl::StatusOr<bool> more = input.GetNext(ctx, &skipped);
    if (!more.ok() && !options_.errors_take_a_place) return more.status();
    RETURN_IF_ERROR(ctx.CheckCancelled());
    if (more.ok() && !*more) break;
  }
  return absl::OkStatus();
}

void MovingWindow::Save(StateWriter writer) const {
  writer.Int("buffer_count", static_cast<int64_t>(buffer_.size()));
  for (size_t i = 0; i < buffer_.size(); ++i) {
    writer.Status(absl::StrCat("status", i), buffer_[i].status);
    writer.Tensors(absl::StrCat("buffer", i), buffer_[i].element);
  }
}

absl::Status MovingWindow::Restore(const StateReader& reader, const DataTypeVector& types) {
  buffer_.clear();
  limit_.Clear();
  ASSIGN_OR_RETURN(const int64_t count, reader.Int("buffer_count", 0, reader.size()));
  for (int64_t i = 0; i < count; ++i) {
    Slot slot;
    RETURN_IF_ERROR(reader.Status(absl::StrCat("status", i), &slot.status));
    if (slot.status.ok()) {
      ASSIGN_OR_RETURN(slot.element, reader.Tensors(absl::StrCat("buffer", i), types));
    }
    RETURN_IF_ERROR(limit_.Add(slot.element, "a window"));
    buffer_.push_back(std::move(slot));
  }
  return absl::OkStatus();
}

class MovingWindowDataset : public UnaryDataset {
 public:
  MovingWindowDataset(std::string type, const DatasetPtr& input, DataTypeVector types,
                      std::vector<PartialTensorShape> shapes, const WindowOptions& options, WindowContents contents)
      : UnaryDataset(std::move(type), input, std::move(types), std::move(shapes)),
        options_(options),
        contents_(contents) {}

  int64_t CountElements(IteratorContext* ctx) const override {
    return options_.Cardinality(input()->CountElements(ctx));
  }

 protected:
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator : public UnaryIterator<MovingWindowDataset> {
   public:
    explicit Iterator(std::shared_ptr<const MovingWindowDataset> dataset)
        : UnaryIterator(std::move(dataset)), window_(this->dataset().options_) {}
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
      const DatasetBase& input = *dataset().input();
      ASSIGN_OR_RETURN(const bool more, window_.Fill(ctx, *input_, input.output_types()));
      if (!more) return false;
      absl::StatusOr<std::vector<Element>> seen = window_.Seen();
      RETURN_IF_ERROR(window_.Advance(ctx, *input_));
      RETURN_IF_ERROR(seen.status());
      ASSIGN_OR_RETURN(*element, dataset().contents_(ctx, input, *std::move(seen)));
      return true;
    }
    absl::Status SaveState(IteratorContext& ctx, StateWriter writer) override {
      window_.Save(writer);
      return UnaryIterator::SaveState(ctx, writer);
    }
    absl::Status RestoreState(IteratorContext& ctx, const StateReader& reader) override {
      RETURN_IF_ERROR(window_.Restore(reader, dataset().input()->output_types()));
      return UnaryIterator::RestoreState(ctx, reader);
    }

   private:
    MovingWindow window_;
  };

  const WindowOptions options_;
  const WindowContents contents_;
};

}  // namespace

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

std::shared_ptr<DatasetBase> NewMovingWindowDataset(std::string type, const DatasetPtr& input, DataTypeVector types,
                                                    std::vector<PartialTensorShape> shapes,
                                                    const WindowOptions& options, WindowContents contents) {
  return std::make_shared<MovingWindowDataset>(std::move(type), input, std::move(types), std::move(shapes), options,
                                               contents);
}

}  // namespace weir
