// Looks after the links of a process that are streams.
#pragma once

#include <condition_variable>
#include <memory>
#include <optional>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "core/blocking_pool.h"
#include "core/mutex.h"
#include "core/status.h"
#include "core/timer_queue.h"
#include "weir/transport.pb.h"

namespace weir {

class StreamLink;

// Several times a second, looks whether peers live and lets calls that are late end. Thread-safe. Links stay until they
// are removed, which they do when they break. Outlives them; what they are for is not destroyed before Stop.
class StreamLinks {
 public:
  StreamLinks() = default;
  ~StreamLinks() { Stop(); }

  // UNAVAILABLE once it is stopped; ResourceExhausted beyond kMaxLinks. Else Ended must follow, after Remove.
  absl::Status Add(std::shared_ptr<StreamLink> link);
  void Remove(const StreamLink* link);
  // The stream of a link has ended: nothing comes from it any more.
  void Ended();
  void Describe(ListLinksResponse* response) const;
  // Breaks all links, takes no more, and waits until their streams have ended, and what came of their frames has run.
  void Stop();

  // While it lives, its thread takes frames in: what is to run elsewhere runs when it goes, so that other frames are
  // not kept waiting. The thread itself runs one of these where it `may_compute`.
  class TakesFrames {
   public:
    TakesFrames(StreamLinks* links, bool may_compute);
    ~TakesFrames();
    TakesFrames(const TakesFrames&) = delete;

   private:
    friend class StreamLinks;
    StreamLinks* const links_;
    const bool may_compute_;
    TakesFrames* const outer_;
    std::vector<absl::AnyInvocable<void()>> later_;
  };
  // Runs `work`, which may compute for long: here, unless this thread takes frames in; else soon.
  static void RunElsewhere(absl::AnyInvocable<void()> work);

  // As BusyPoller's.
  static bool RunSoon(absl::AnyInvocable<void()>& work);

 private:
  static constexpr size_t kMaxLinks = 1024;
  static constexpr int kMaxThreads = 1024;
  using Links = std::vector<std::shared_ptr<StreamLink>>;

  void Tick();
  void ScheduleTick() REQUIRES(mu_);
  // Something begins that may use what the links are for, and ends.
  void Enter();
  void Leave();

  mutable Mutex mu_;
  std::condition_variable all_ended_;
  Links links_ GUARDED_BY(mu_);
  size_t streams_ GUARDED_BY(mu_) = 0;  // that have not ended
  size_t users_ GUARDED_BY(mu_) = 0;    // between Enter and Leave
  bool stopping_ GUARDED_BY(mu_) = false;
  std::optional<TimerQueue::Token> tick_ GUARDED_BY(mu_);
  BlockingPool pool_{"weir-streams", kMaxThreads};
  TimerQueue timers_;
};

}  // namespace weir
