#include "distribute/transport/shared_memory/frame_ring.h"

#include <algorithm>
#include <cstring>

namespace weir {

absl::StatusOr<bool> FrameRingWriter::HasRoom(uint64_t bytes) {
  if (capacity_ - (written_ - released_) >= bytes) return true;
  const auto look = [this]() -> absl::Status {
    const uint64_t released = state_->released.load();
    if (released > written_ || released < released_) {
      return errors::InvalidArgument("The reader of a ring has released ", released, " of ", written_, " bytes");
    }
    released_ = released;
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(look());
  if (capacity_ - (written_ - released_) >= bytes) return true;
  // The reader either sees this or has released before the second check.
  state_->writer_waits.store(1);
  RETURN_IF_ERROR(look());
  if (capacity_ - (written_ - released_) < bytes) return false;
  state_->writer_waits.store(0);
  return true;
}

absl::StatusOr<bool> FrameRingWriter::Write(const FrameRingHead& head, absl::Span<const char> bytes) {
  const uint64_t space = FrameRingSpace(bytes.size());
  uint64_t place = written_ % capacity_;
  const uint64_t skipped = place + space > capacity_ ? capacity_ - place : 0;
  ASSIGN_OR_RETURN(const bool has_room, HasRoom(skipped + space));
  if (!has_room) return false;
  if (skipped > 0) {
    const FrameRingHead skip;
    std::memcpy(frames_ + place, &skip, sizeof(skip));
    place = 0;
  }
  std::memcpy(frames_ + place, &head, sizeof(head));
  if (!bytes.empty()) std::memcpy(frames_ + place + kFrameUnit, bytes.data(), bytes.size());
  written_ += skipped + space;
  state_->written.store(written_);
  return true;
}

absl::StatusOr<std::optional<FrameRingReader::Frame>> FrameRingReader::Read() {
  const uint64_t written = state_->written.load();
  uint64_t kept = 0;  // start of the memory that is still in use
  {
    MutexLock lock(mu_);
    kept = released_;
  }
  if (written < read_ || written - kept > capacity_ || written % kFrameUnit != 0) {
    return errors::InvalidArgument("The writer of a ring of ", capacity_, " bytes has written ", written, ", of which ",
                                   read_, " are read");
  }
  const uint64_t begin = read_;
  while (read_ != written) {
    Frame frame;
    const uint64_t place = read_ % capacity_, available = written - read_;
    std::memcpy(&frame.head, frames_ + place, sizeof(frame.head));  // once, so that the checked value cannot change
    if (frame.head.kind == 0) {
      if (capacity_ - place > available || place == 0) {
        return errors::InvalidArgument("A ring skips to its start from ", place);
      }
      read_ += capacity_ - place;
      continue;
    }
    const uint64_t most = std::min(available, capacity_ - place);
    if (frame.head.bytes > most || FrameRingSpace(frame.head.bytes) > most) {
      return errors::InvalidArgument("A frame of ", frame.head.bytes, " bytes does not lie in ", most, " of a ring");
    }
    frame.bytes = {frames_ + place + kFrameUnit, frame.head.bytes};
    frame.begin = begin;
    read_ += FrameRingSpace(frame.head.bytes);
    MutexLock lock(mu_);
    held_.push_back({begin, read_});
    return std::optional(frame);
  }
  return std::optional<Frame>();
}

bool FrameRingReader::Release(uint64_t begin) {
  {
    MutexLock lock(mu_);
    for (Held& held : held_) {
      if (held.begin == begin) held.is_released = true;
    }
    const uint64_t before = released_;
    while (!held_.empty() && held_.front().is_released) {
      released_ = held_.front().end;
      held_.pop_front();
    }
    if (released_ == before) return false;
    state_->released.store(released_);
  }
  return state_->writer_waits.load() != 0 && state_->writer_waits.exchange(0) != 0;
}

}  // namespace weir
