#include "core/gpu/stream_timeline.h"

namespace weir {

uint64_t StreamTimeline::Mark() {
  ++position_;
  if (position_ - covered_ >= kMarksPerEvent) RecordNow().IgnoreError();
  return position_;
}

absl::Status StreamTimeline::Poll() {
  while (!checkpoints_.empty()) {
    ASSIGN_OR_RETURN(const bool done, checkpoints_.front().event->IsDone());
    if (!done) break;
    passed_ = checkpoints_.front().position;
    spare_.push_back(std::move(checkpoints_.front().event));
    checkpoints_.pop_front();
  }
  return absl::OkStatus();
}

absl::Status StreamTimeline::MakeWait(GpuStream* waiter, uint64_t position) {
  if (waiter == stream_ || HasPassed(position)) return absl::OkStatus();
  RETURN_IF_ERROR(Cover(position));
  for (const Checkpoint& checkpoint : checkpoints_) {
    if (checkpoint.position >= position) return waiter->Wait(*checkpoint.event);
  }
  return errors::Internal("no event covers position ", position, " of stream '", stream_->name(), "'");
}

absl::Status StreamTimeline::RecordNow() {
  if (stream_->IsCapturing()) {
    return errors::FailedPrecondition("Stream '", stream_->name(), "' captures: nothing outside can wait for it");
  }
  std::unique_ptr<GpuEvent> event;
  if (!spare_.empty()) {
    event = std::move(spare_.back());
    spare_.pop_back();
  } else {
    ASSIGN_OR_RETURN(event, stream_->runtime()->CreateEvent());
  }
  RETURN_IF_ERROR(stream_->Record(event.get()));
  checkpoints_.push_back({position_, std::move(event)});
  covered_ = position_;
  return absl::OkStatus();
}

}  // namespace weir
