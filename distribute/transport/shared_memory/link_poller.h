// Looks after the links of a process whose peers write into shared memory.
#pragma once

#include <atomic>
#include <deque>
#include <list>
#include <memory>
#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "core/busy_poller.h"
#include "core/cancellation.h"
#include "core/mutex.h"
#include "distribute/transport/shared_memory/doorbell.h"
#include "distribute/transport/shared_memory/poll_turn.h"
#include "weir/transport.pb.h"

namespace weir {

// A link that has to be looked at.
class PolledLink {
 public:
  virtual ~PolledLink() = default;
  // For one thread at a time: whether there is something to do, and doing it; true: there was.
  virtual bool HasWork() = 0;
  virtual bool Poll() = 0;
  // Now and then, on any thread: breaks the link when its peer is gone or hangs.
  virtual void CheckPeer() = 0;
  virtual void Break(const absl::Status& status) = 0;
  virtual void Describe(ListLinksResponse::Link* description) const = 0;
};

// A thread sleeps until the process's doorbell rings, and then runs what has come. A thread that waits for it anyway
// (Await) does the same meanwhile, so that nobody is woken: how long it looks depends on how long such waits were. It
// may keep its turn until it waits again (AwaitAndStay). One thread looks at a time, and computes nothing: what takes
// long (RunElsewhere) it does after it has stopped looking, and another thread is there to be rung for, so that threads
// grow with need, as PollingThreads do. Thread-safe. Links stay until they are removed, which they do when they break.
// Outlives them.
class LinkPoller : public BusyPoller {
 public:
  static absl::StatusOr<std::unique_ptr<LinkPoller>> Create();
  ~LinkPoller() override { Stop(); }

  // For peers.
  const SharedSegmentName& doorbell() const { return doorbell_->name(); }
  // Of what is asked of peers to set up links.
  CancellationManager* cancellation() { return &cancellation_; }

  // UNAVAILABLE once it is stopped; ResourceExhausted beyond kMaxLinks.
  absl::Status Add(std::shared_ptr<PolledLink> link);
  // It is not looked at any more, but for a look under way.
  void Remove(const PolledLink* link);
  void Await(absl::FunctionRef<bool()> enough) override;
  void AwaitAndStay(absl::FunctionRef<bool()> enough) override;
  void Rest() override;
  bool RunSoon(absl::AnyInvocable<void()>& work) override;
  // Runs `work`, which may compute for long: here, unless this thread looks after links; else soon on another, or on
  // this one when it has stopped looking.
  static void RunElsewhere(absl::AnyInvocable<void()> work);
  bool IsInAwait() const override;
  void Describe(ListLinksResponse* response) const;
  // Breaks all links, and takes no more.
  void Stop();

 private:
  static constexpr size_t kMaxLinks = 1024;
  static constexpr size_t kMaxThreads = 1024;
  static constexpr int kSpareThreads = 4;  // kept without work
  using Links = std::vector<std::shared_ptr<PolledLink>>;
  using Threads = std::list<std::thread>;

  explicit LinkPoller(std::unique_ptr<Doorbell> doorbell) : doorbell_(std::move(doorbell)) {}

  bool StartThread() REQUIRES(mu_);
  void Run(Threads::iterator self);
  // Where it is time (true), shows that the process lives, and looks whether peers do.
  bool Tick();
  void RunLater(absl::AnyInvocable<void()> work);
  // False: there is nothing to run.
  bool RunOne();
  // False: there are enough threads without this one.
  bool Stays(Threads::iterator self);
  // The turn of the poller's own thread. `may_take_over`: even where another one keeps it, which lets nobody wait for
  // longer than from one tick to the next.
  PollTurn::Id EnterAlone(bool may_take_over);
  // The turn of this thread, which waits for a step: the one that it has kept, or a new one.
  PollTurn::Id EnterForStep(absl::FunctionRef<bool()> enough);
  void Leave(PollTurn::Id turn);
  bool HasWork();
  bool PollOnce();
  enum class Ended { kEnough, kIdle, kLostTurn };
  // Until nothing has come for as long as is worth waiting, for a step under way or else for another one. But for
  // kLostTurn this thread still has its turn.
  Ended PollUntil(PollTurn::Id turn, bool in_step, absl::FunctionRef<bool()> enough);
  bool IsCrowded(int64_t now) const;
  // Lets others have the processor, and learns how long that takes.
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
  std::atomic<int64_t> expected_nanos_{0};  // until something comes for a step that waits, in the mean
  std::atomic<int64_t> idle_nanos_{0};      // until something comes while no step waits
  std::atomic<int64_t> waits_since_{0};     // 0: nobody does
  std::atomic<int64_t> crowded_until_{0};   // nothing is gained by yielding before
  std::atomic<int64_t> crowded_for_{0};     // last time
  std::atomic<uint64_t> version_{0};        // of links_
  Links polled_;                            // whoever looks has it
  int64_t idle_since_ = 0;                  // the same; 0: a step waits, or something has come
  uint64_t polled_version_ = 0;
  std::atomic<size_t> num_later_{0};  // size of later_
  mutable Mutex mu_;
  Links links_ GUARDED_BY(mu_);
  bool stopping_ GUARDED_BY(mu_) = false;
  std::condition_variable all_ended_;
  Threads threads_ GUARDED_BY(mu_), ended_ GUARDED_BY(mu_);  // those that ended are to be joined
  int idle_ GUARDED_BY(mu_) = 0;                             // threads that sleep or look
  std::deque<absl::AnyInvocable<void()>> later_ GUARDED_BY(mu_);
  absl::Time next_tick_ GUARDED_BY(mu_) = absl::InfinitePast();
};

}  // namespace weir
