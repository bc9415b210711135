#include "core/gpu/gpu_completion_queue.h"

#include <iterator>

#include "absl/time/clock.h"
#include "core/clock.h"

namespace weir {

GpuCompletionQueue::GpuCompletionQueue(Options options) : options_(options), thread_([this] { Loop(); }) {}

GpuCompletionQueue::~GpuCompletionQueue() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void GpuCompletionQueue::Then(GpuStream* stream, Callback callback) {
  Pending added{RecordOn(stream), stream, MonotonicNow() + options_.patience, std::move(callback)};
  MutexLock lock(mu_);
  added_.push_back(std::move(added));
  changed_.notify_all();
}

absl::StatusOr<std::unique_ptr<GpuEvent>> GpuCompletionQueue::RecordOn(GpuStream* stream) {
  ASSIGN_OR_RETURN(std::unique_ptr<GpuEvent> event, stream->runtime()->CreateEvent());
  RETURN_IF_ERROR(stream->Record(event.get()));
  return event;
}

void GpuCompletionQueue::Loop() {
  std::vector<Pending> pending;
  while (true) {
    {
      MutexLock lock(mu_);
      while (pending.empty() && added_.empty() && !stopping_) lock.Wait(changed_);
      if (pending.empty() && added_.empty()) return;
      pending.insert(pending.end(), std::make_move_iterator(added_.begin()), std::make_move_iterator(added_.end()));
      added_.clear();
    }
    // Sweep reports an error.
    if (const auto& oldest = pending.front().event; oldest.ok()) {
      (*oldest)->Synchronize(MonotonicNow() + options_.interval).IgnoreError();
    }
    Sweep(&pending);
  }
}

void GpuCompletionQueue::Sweep(std::vector<Pending>* pending) {
  std::vector<Pending> kept;
  for (Pending& entry : *pending) {
    const absl::StatusOr<bool> done = entry.event.ok() ? (*entry.event)->IsDone() : entry.event.status();
    if (!done.ok()) {
      entry.callback(done.status());
    } else if (*done) {
      entry.callback(absl::OkStatus());
    } else if (MonotonicNow() >= entry.deadline) {
      entry.callback(errors::DeadlineExceeded(
          "Stream '", entry.stream->name(), "' of ", entry.stream->runtime()->properties().name,
          " did not complete its work within ", absl::FormatDuration(options_.patience), ": the device seems to hang"));
    } else {
      kept.push_back(std::move(entry));
    }
  }
  *pending = std::move(kept);
}

}  // namespace weir
