#include "distribute/transport/stream/stream_links.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "core/clock.h"
#include "distribute/transport/stream/stream_link.h"

namespace weir {
namespace {

thread_local StreamLinks::FrameReadingScope* reading_frames = nullptr;

}  // namespace

StreamLinks::FrameReadingScope::FrameReadingScope(StreamLinks* links, bool may_compute)
    : links_(links), may_compute_(may_compute), outer_(std::exchange(reading_frames, this)) {
  links_->Enter();
}

StreamLinks::FrameReadingScope::~FrameReadingScope() {
  reading_frames = outer_;
  for (size_t i = may_compute_ ? 1 : 0; i < later_.size(); ++i) {
    links_->Enter();
    links_->pool_.Schedule([links = links_, work = std::move(later_[i])]() mutable {
      std::exchange(work, nullptr)();
      links->Leave();
    });
  }
  if (may_compute_ && !later_.empty()) std::exchange(later_.front(), nullptr)();
  links_->Leave();
}

void StreamLinks::Enter() {
  MutexLock lock(mu_);
  ++users_;
}

void StreamLinks::Leave() {
  MutexLock lock(mu_);
  if (--users_ == 0) all_ended_.notify_all();
}

void StreamLinks::RunElsewhere(absl::AnyInvocable<void()> work) {
  if (reading_frames == nullptr) return work();
  reading_frames->later_.push_back(std::move(work));
}

bool StreamLinks::RunSoon(absl::AnyInvocable<void()>& work) {
  if (reading_frames == nullptr || !reading_frames->may_compute_) return false;
  reading_frames->later_.push_back(std::move(work));
  return true;
}

absl::Status StreamLinks::Add(std::shared_ptr<StreamLink> link) {
  MutexLock lock(mu_);
  if (stopping_) return errors::Unavailable("The task is shutting down");
  if (links_.size() >= kMaxLinks) return errors::ResourceExhausted("The task has ", kMaxLinks, " links already");
  links_.push_back(std::move(link));
  ++streams_;
  if (ticks_ && !tick_) ScheduleTick();
  return absl::OkStatus();
}

void StreamLinks::Remove(const StreamLink* link) {
  std::shared_ptr<StreamLink> removed;  // used and destroyed without the lock
  {
    MutexLock lock(mu_);
    const auto it = std::find_if(links_.begin(), links_.end(), [&](const auto& known) { return known.get() == link; });
    if (it == links_.end()) return;
    removed = std::move(*it);
    links_.erase(it);
  }
  ListLinksResponse::Link last;
  removed->Describe(&last);
  ended_bytes_.sent.Add(last.bytes_sent());
  ended_bytes_.received.Add(last.bytes_received());
}

void StreamLinks::Ended() {
  MutexLock lock(mu_);
  if (--streams_ == 0) all_ended_.notify_all();
}

void StreamLinks::Describe(ListLinksResponse* response) const {
  Links links;
  {
    MutexLock lock(mu_);
    links = links_;
  }
  for (const auto& link : links) link->Describe(response->add_link());
}

void StreamLinks::ScheduleTick() {
  tick_ = timers_.Schedule(MonotonicNow() + absl::Milliseconds(StreamLink::kTickMillis), [this] { Tick(); });
}

void StreamLinks::Tick() {
  Links links;
  {
    MutexLock lock(mu_);
    tick_.reset();
    if (stopping_) return;
    links = links_;
    if (!links.empty()) ScheduleTick();
  }
  const FrameReadingScope scope(this, /*may_compute=*/false);
  const absl::Time now = MonotonicNow();
  for (const auto& link : links) link->Tick(now);
}

void StreamLinks::Stop() {
  Links links;
  std::optional<TimerQueue::Token> tick;
  {
    MutexLock lock(mu_);
    stopping_ = true;
    links = links_;
    tick = std::exchange(tick_, std::nullopt);
  }
  if (tick) timers_.Cancel(*tick);
  for (const auto& link : links) link->Break(errors::Unavailable("The task is shutting down"));
  links.clear();
  MutexLock lock(mu_);
  while (streams_ > 0 || users_ > 0) lock.Wait(all_ended_);
}

}  // namespace weir
