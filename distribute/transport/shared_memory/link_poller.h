// Polls the links of a process that go through shared memory.
#pragma once

#include <atomic>
#include <deque>
#include <list>
#include <memory>
#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "core/mutex.h"
#include "core/threads/busy_poller.h"
#include "core/threads/cancellation.h"
#include "distribute/transport/shared_memory/doorbell.h"
#include "distribute/transport/shared_memory/poll_turn.h"
#include "distribute/transport/transport_metrics.h"
#include "weir/transport.pb.h"

namespace weir {

// A link that has to be polled.
class PolledLink {
 public:
  virtual ~PolledLink() = default;
  // For one thread at a time. HasWork checks for work; Poll does it, and returns true if there was any.
  virtual bool HasWork() = 0;
  virtual bool Poll() = 0;
  // Called regularly, on any thread. Breaks the link if its peer has died or hangs.
  virtual void CheckPeer() = 0;
  virtual void Break(const absl::Status& status) = 0;
  virtual void Describe(ListLinksResponse::Link* description) const = 0;
};

// Runs the handlers of frames that arrive through shared memory. Thread-safe. Outlives its links, which stay until they
// break.
// - Its own threads sleep until the process's doorbell rings. A thread that waits for a step anyway polls meanwhile
//   (Await), so that no thread has to be woken; past waits determine for how long. It may keep its turn until it waits
//   again (AwaitAndStay).
// - One thread polls at a time, and does not compute while it does. Long work (RunElsewhere) runs after it has stopped
//   polling, and another thread is available for the doorbell; threads are added as needed, as in PollingThreads.
class LinkPoller : public BusyPoller {
 public:
  static absl::StatusOr<std::unique_ptr<LinkPoller>> Create();
  ~LinkPoller() override { Stop(); }

  // For peers.
  const SharedSegmentName& doorbell() const { return doorbell_->name(); }
  // For the calls that ask peers to open links.
  CancellationManager* cancellation() { return &cancellation_; }

  // UNAVAILABLE after Stop; ResourceExhausted beyond kMaxLinks.
  absl::Status Add(std::shared_ptr<PolledLink> link);
  // Stops polling the link; a poll in progress may still use it.
  void Remove(const PolledLink* link);
  void Await(absl::FunctionRef<bool()> enough) override;
  void AwaitAndStay(absl::FunctionRef<bool()> enough) override;
  void Rest() override;
  bool RunSoon(absl::AnyInvocable<void()>& work) override;
  // Runs `work`, which may take long: inline, unless this thread polls; else soon, on another thread or on this one
  // after it has stopped polling.
  static void RunElsewhere(absl::AnyInvocable<void()> work);
  bool IsInAwait() const override;
  void Describe(ListLinksResponse* response) const;
  // Of links that were removed.
  const ByteCounts& ended_bytes() const { return ended_bytes_; }
  // Breaks all links and rejects new ones.
  void Stop();

 private:
  static constexpr size_t kMaxLinks = 1024;
  static constexpr size_t kMaxThreads = 1024;
  static constexpr int kSpareThreads = 4;  // kept idle
  using Links = std::vector<std::shared_ptr<PolledLink>>;
  using Threads = std::list<std::thread>;

  explicit LinkPoller(std::unique_ptr<Doorbell> doorbell) : doorbell_(std::move(doorbell)) {}

  bool StartThread() REQUIRES(mu_);
  void Run(Threads::iterator self);
  // If it is time (true), signals that this process lives and checks the peers.
  bool Tick();
  void RunLater(absl::AnyInvocable<void()> work);
  // False: there is no work.
  bool RunOne();
  // False: enough other threads exist.
  bool Stays(Threads::iterator self);
  // Takes the turn on one of the poller's own threads. With `may_take_over`, even from a thread that keeps it, so that
  // nothing waits longer than one tick.
  PollTurn::Id EnterAlone(bool may_take_over);
  // Takes the turn on a thread that waits for a step: the turn that it kept, or a new one.
  PollTurn::Id EnterForStep(absl::FunctionRef<bool()> enough);
  void Leave(PollTurn::Id turn);
  bool HasWork();
  bool PollOnce();
  enum class Ended { kEnough, kIdle, kLostTurn };
  // Polls until `enough`, or until waiting longer is not worthwhile for a step (`in_step`) or between steps. The thread
  // keeps its turn unless the result is kLostTurn.
  Ended PollUntil(PollTurn::Id turn, bool in_step, absl::FunctionRef<bool()> enough);
  bool IsCrowded(int64_t now) const;
  // Yields the processor and learns how long that takes.
  void Yield(int64_t now);
  void RefreshLinks();
  Links Snapshot() const;
  static void Learn(int64_t waited_nanos, std::atomic<int64_t>& mean);
  int64_t Patience(bool in_step, bool is_crowded) const;

  const std::unique_ptr<Doorbell> doorbell_;
  CancellationManager cancellation_;
  PollTurn turn_;
  std::atomic<int> awaiting_{0};  // threads in Await
  std::atomic<bool> has_links_{false};
  std::atomic<int64_t> expected_nanos_{0};  // mean time until a frame arrives while a step waits
  std::atomic<int64_t> idle_nanos_{0};      // mean time until a frame arrives while none waits
  std::atomic<int64_t> waits_since_{0};     // 0: no step waits
  std::atomic<int64_t> crowded_until_{0};   // yielding is useless before this time
  std::atomic<int64_t> crowded_for_{0};     // the last such period
  std::atomic<uint64_t> version_{0};        // of links_
  Links polled_;                            // for the thread that has the turn
  int64_t idle_since_ = 0;                  // the same; 0: a step waits, or a frame has arrived
  uint64_t polled_version_ = 0;
  std::atomic<size_t> num_later_{0};  // size of later_
  ByteCounts ended_bytes_;
  mutable Mutex mu_;
  Links links_ GUARDED_BY(mu_);
  bool stopping_ GUARDED_BY(mu_) = false;
  std::condition_variable all_ended_;
  Threads threads_ GUARDED_BY(mu_), ended_ GUARDED_BY(mu_);  // ended ones are to be joined
  int idle_ GUARDED_BY(mu_) = 0;                             // threads that sleep or poll
  std::deque<absl::AnyInvocable<void()>> later_ GUARDED_BY(mu_);
  absl::Time next_tick_ GUARDED_BY(mu_) = absl::InfinitePast();
};

}  // namespace weir
