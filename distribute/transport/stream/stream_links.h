// Serves the stream links of a process.
#pragma once

#include <condition_variable>
#include <memory>
#include <optional>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "core/mutex.h"
#include "core/status.h"
#include "core/threads/blocking_pool.h"
#include "core/threads/timer_queue.h"
#include "distribute/transport/transport_metrics.h"
#include "weir/transport.pb.h"

namespace weir {

class StreamLink;

// Several times a second, checks peers and ends calls past their deadline. Thread-safe. Outlives its links, which stay
// until they break. The objects that links use are not destroyed before Stop.
class StreamLinks {
 public:
  // Without `ticks`, a test calls StreamLink::Tick.
  explicit StreamLinks(bool ticks = true) : ticks_(ticks) {}
  ~StreamLinks() { Stop(); }

  // UNAVAILABLE after Stop; ResourceExhausted beyond kMaxLinks. After success Remove and then Ended must follow.
  absl::Status Add(std::shared_ptr<StreamLink> link);
  void Remove(const StreamLink* link);
  // The stream of a link has ended: no more frames arrive.
  void Ended();
  void Describe(ListLinksResponse* response) const;
  // Of links that were removed.
  const ByteCounts& ended_bytes() const { return ended_bytes_; }
  // Breaks all links, rejects new ones, and waits until their streams have ended and the work of their frames has run.
  void Stop();

  // While it lives, its thread reads frames. Deferred work runs when it is destroyed, so that other frames do not wait.
  // If the thread `may_compute`, it runs one piece of work itself.
  class FrameReadingScope {
   public:
    FrameReadingScope(StreamLinks* links, bool may_compute);
    ~FrameReadingScope();
    FrameReadingScope(const FrameReadingScope&) = delete;

   private:
    friend class StreamLinks;
    StreamLinks* const links_;
    const bool may_compute_;
    FrameReadingScope* const outer_;
    std::vector<absl::AnyInvocable<void()>> later_;
  };
  // Runs `work`, which may take long: inline, unless this thread reads frames; else soon.
  static void RunElsewhere(absl::AnyInvocable<void()> work);

  // As BusyPoller::RunSoon.
  static bool RunSoon(absl::AnyInvocable<void()>& work);

 private:
  static constexpr size_t kMaxLinks = 1024;
  static constexpr int kMaxThreads = 1024;
  using Links = std::vector<std::shared_ptr<StreamLink>>;

  void Tick();
  void ScheduleTick() REQUIRES(mu_);
  // Count users of the objects that links use.
  void Enter();
  void Leave();

  const bool ticks_;
  ByteCounts ended_bytes_;
  mutable Mutex mu_;
  std::condition_variable all_ended_;
  Links links_ GUARDED_BY(mu_);
  size_t streams_ GUARDED_BY(mu_) = 0;  // streams that have not ended
  size_t users_ GUARDED_BY(mu_) = 0;    // between Enter and Leave
  bool stopping_ GUARDED_BY(mu_) = false;
  std::optional<TimerQueue::Token> tick_ GUARDED_BY(mu_);
  BlockingPool pool_{"weir-streams", kMaxThreads};
  TimerQueue timers_;
};

}  // namespace weir
