#include "distribute/transport/shared_memory/link_poller.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "core/clock.h"
#include "core/threads/compute_pool.h"

namespace weir {
namespace {

// The interval between checks of peers, and between signs of life. A killed peer is detected within one interval.
constexpr absl::Duration kTick = absl::Milliseconds(250);
// Polling longer is not worth a processor; polling shorter always is.
constexpr int64_t kLongestPoll = 500'000;
constexpr int64_t kShortestPoll = 20'000;
// After this time the thread yields to others that want its processor.
constexpr int64_t kAlone = 2'000;
constexpr int kPausesPerPoll = 8;
constexpr int kRoundsToLeave = 16;
// If yielding takes this long, another thread computes and will not stop soon. Being woken is then faster than waiting
// for the processor. Yielding is tried again later; the interval doubles while it stays slow.
constexpr int64_t kSlowYield = 200'000;
constexpr int64_t kShortestCrowd = 100'000'000, kLongestCrowd = 32 * kShortestCrowd;

thread_local int in_await = 0;
thread_local LinkPoller* polling = nullptr;  // the poller whose frames this thread reads

// The turn that this thread keeps between AwaitAndStay and Rest.
struct KeptTurn {
  LinkPoller* poller = nullptr;
  PollTurn::Id turn = PollTurn::kNone;
};
thread_local KeptTurn kept;

int64_t NowNanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

absl::StatusOr<std::unique_ptr<LinkPoller>> LinkPoller::Create() {
  ASSIGN_OR_RETURN(auto doorbell, Doorbell::Create());
  return std::unique_ptr<LinkPoller>(new LinkPoller(std::move(doorbell)));
}

absl::Status LinkPoller::Add(std::shared_ptr<PolledLink> link) {
  {
    MutexLock lock(mu_);
    if (stopping_) return errors::Unavailable("The task is shutting down");
    if (links_.size() >= kMaxLinks) return errors::ResourceExhausted("The task has ", kMaxLinks, " links already");
    if (threads_.empty() && !StartThread()) {
      return errors::ResourceExhausted("The system's thread limit is reached; links need a thread");
    }
    links_.push_back(std::move(link));
    version_.fetch_add(1);
    has_links_.store(true);
  }
  // The peer may have written before it could ring.
  doorbell_->WakeOne();
  return absl::OkStatus();
}

void LinkPoller::Remove(const PolledLink* link) {
  std::shared_ptr<PolledLink> removed;  // used and destroyed without the lock
  {
    MutexLock lock(mu_);
    const auto it = std::find_if(links_.begin(), links_.end(), [&](const auto& known) { return known.get() == link; });
    if (it == links_.end()) return;
    removed = std::move(*it);
    links_.erase(it);
    version_.fetch_add(1);
    has_links_.store(!links_.empty());
  }
  ListLinksResponse::Link last;
  removed->Describe(&last);
  ended_bytes_.sent.Add(last.bytes_sent());
  ended_bytes_.received.Add(last.bytes_received());
}

LinkPoller::Links LinkPoller::Snapshot() const {
  MutexLock lock(mu_);
  return links_;
}

void LinkPoller::Describe(ListLinksResponse* response) const {
  for (const auto& link : Snapshot()) link->Describe(response->add_link());
}

void LinkPoller::Stop() {
  cancellation_.StartCancel(errors::Cancelled("The task is shutting down"));
  {
    MutexLock lock(mu_);
    stopping_ = true;
  }
  // Ends pending calls, and with them the threads that run them.
  for (const auto& link : Snapshot()) link->Break(errors::Unavailable("The task is shutting down"));
  doorbell_->WakeAll();
  Threads ended;
  std::deque<absl::AnyInvocable<void()>> later;
  {
    MutexLock lock(mu_);
    while (!threads_.empty()) lock.Wait(all_ended_);
    ended.swap(ended_);
    later.swap(later_);
  }
  for (std::thread& thread : ended) thread.join();
  for (auto& work : later) work();
}

void LinkPoller::RunElsewhere(absl::AnyInvocable<void()> work) {
  if (polling == nullptr) return work();
  polling->RunLater(std::move(work));
}

void LinkPoller::RunLater(absl::AnyInvocable<void()> work) {
  {
    MutexLock lock(mu_);
    if (!stopping_) {
      later_.push_back(std::move(work));
      work = nullptr;
    }
    num_later_.store(later_.size());
  }
  if (work != nullptr) return work();     // no thread may be left
  if (IsInAwait()) doorbell_->WakeOne();  // this thread has other work to do
}

void LinkPoller::Leave(PollTurn::Id turn) {
  for (int round = 0;; ++round) {
    doorbell_->Arm();
    if (!HasWork()) {
      turn_.End();
      // A thread that was woken in between found this one polling and sleeps again.
      if (doorbell_->IsArmed()) return;
      turn = turn_.TryBegin();
      if (turn == PollTurn::kNone) return;
    } else if (round == kRoundsToLeave) {
      // Peers that write constantly must not keep this thread from its own work.
      turn_.End();
      doorbell_->WakeOne();
      return;
    }
    doorbell_->Disarm();
    PollOnce();
  }
}

void LinkPoller::RefreshLinks() {
  const uint64_t version = version_.load();
  if (version == polled_version_) return;
  polled_ = Snapshot();
  polled_version_ = version;
}

bool LinkPoller::HasWork() {
  RefreshLinks();
  return std::any_of(polled_.begin(), polled_.end(), [](const auto& link) { return link->HasWork(); });
}

bool LinkPoller::PollOnce() {
  RefreshLinks();
  bool any = false;
  LinkPoller* const before = std::exchange(polling, this);
  for (const auto& link : polled_) {
    if (!link->HasWork()) continue;
    if (const int64_t since = waits_since_.exchange(0); since != 0) Learn(NowNanos() - since, expected_nanos_);
    if (const int64_t since = std::exchange(idle_since_, 0); since != 0) Learn(NowNanos() - since, idle_nanos_);
    any = link->Poll() || any;
  }
  polling = before;
  return any;
}

void LinkPoller::Learn(int64_t waited_nanos, std::atomic<int64_t>& mean) {
  const int64_t waited = std::min(waited_nanos, 4 * kLongestPoll);
  mean.store((3 * mean.load(std::memory_order_relaxed) + waited) / 4, std::memory_order_relaxed);
}

int64_t LinkPoller::Patience(bool in_step, bool is_crowded) const {
  const int64_t expected = (in_step ? expected_nanos_ : idle_nanos_).load(std::memory_order_relaxed);
  if (is_crowded) return expected > kShortestPoll ? kAlone : kShortestPoll;  // a peer may need this processor
  return expected > kLongestPoll ? kShortestPoll : std::clamp(4 * expected, kShortestPoll, kLongestPoll);
}

LinkPoller::Ended LinkPoller::PollUntil(PollTurn::Id turn, bool in_step, absl::FunctionRef<bool()> enough) {
  int64_t start = 0;
  while (!enough()) {
    if (PollOnce()) {
      start = 0;
      continue;
    }
    if (start == 0) {
      start = NowNanos();
      if (in_step) waits_since_.store(start);
      if (!in_step && idle_since_ == 0) idle_since_ = start;
    }
    turn_.Pause(turn);
    for (int i = 0; i < kPausesPerPoll; ++i) SpinPause();
    const int64_t now = NowNanos(), spent = now - start;
    const bool is_crowded = IsCrowded(now);
    const bool is_idle = spent > Patience(in_step, is_crowded);
    if (!is_idle && !is_crowded && spent >= kAlone) Yield(now);
    if (!turn_.Resume(turn)) return Ended::kLostTurn;
    if (is_idle) return Ended::kIdle;
  }
  return Ended::kEnough;
}

bool LinkPoller::IsCrowded(int64_t now) const { return now < crowded_until_.load(std::memory_order_relaxed); }

void LinkPoller::Yield(int64_t now) {
  std::this_thread::yield();
  const int64_t back = NowNanos();
  const bool is_slow = back - now > kSlowYield;
  const int64_t before = crowded_for_.load(std::memory_order_relaxed);
  const int64_t crowded_for = is_slow ? std::clamp(2 * before, kShortestCrowd, kLongestCrowd) : 0;
  crowded_for_.store(crowded_for, std::memory_order_relaxed);
  if (is_slow) crowded_until_.store(back + crowded_for, std::memory_order_relaxed);
}

bool LinkPoller::RunSoon(absl::AnyInvocable<void()>& work) {
  if (polling == nullptr || IsInAwait()) return false;
  polling->RunLater(std::move(work));
  return true;
}

bool LinkPoller::IsInAwait() const { return in_await > 0; }

PollTurn::Id LinkPoller::EnterAlone(bool may_take_over) {
  const bool takes_over = may_take_over && awaiting_.load(std::memory_order_relaxed) == 0;
  const PollTurn::Id turn = takes_over ? turn_.TryTakeOver() : turn_.TryBegin();
  if (turn != PollTurn::kNone) doorbell_->Disarm();
  return turn;
}

PollTurn::Id LinkPoller::EnterForStep(absl::FunctionRef<bool()> enough) {
  const KeptTurn mine = std::exchange(kept, {});
  if (mine.turn != PollTurn::kNone && turn_.Resume(mine.turn)) return mine.turn;
  // Only a poll in progress prevents this.
  const int64_t start = NowNanos();
  PollTurn::Id turn = turn_.TryTakeOver();
  for (int64_t now = start; turn == PollTurn::kNone && !IsCrowded(now) && !enough() && now - start < kShortestPoll;
       now = NowNanos()) {
    Yield(now);
    turn = turn_.TryTakeOver();
  }
  if (turn != PollTurn::kNone) doorbell_->Disarm();
  return turn;
}

void LinkPoller::AwaitAndStay(absl::FunctionRef<bool()> enough) {
  if (!has_links_.load(std::memory_order_relaxed)) return Rest();
  if (kept.poller != this) Rest();
  if (awaiting_.fetch_add(1) == 0) {
    if (const PollTurn::Id turn = EnterForStep(enough); turn != PollTurn::kNone) {
      ++in_await;
      idle_since_ = 0;
      switch (PollUntil(turn, /*in_step=*/true, enough)) {
        case Ended::kEnough:
          kept = {this, turn};
          turn_.Pause(turn);
          break;
        case Ended::kIdle:
          Leave(turn);
          break;
        case Ended::kLostTurn:
          break;
      }
      --in_await;
    }
  }
  awaiting_.fetch_sub(1);
}

void LinkPoller::Await(absl::FunctionRef<bool()> enough) {
  AwaitAndStay(enough);
  Rest();
}

void LinkPoller::Rest() {
  const KeptTurn mine = std::exchange(kept, {});
  if (mine.poller == nullptr || !mine.poller->turn_.Resume(mine.turn)) return;
  ++in_await;  // deferred work is for another thread
  mine.poller->Leave(mine.turn);
  --in_await;
}

bool LinkPoller::StartThread() {
  threads_.emplace_back();
  const auto self = std::prev(threads_.end());
  try {
    *self = std::thread([this, self] { Run(self); });
  } catch (const std::system_error&) {  // the existing threads have to do
    threads_.erase(self);
    return false;
  }
  ++idle_;
  return true;
}

bool LinkPoller::Tick() {
  Links links;
  {
    MutexLock lock(mu_);
    const absl::Time now = MonotonicNow();
    if (now < next_tick_) return false;
    next_tick_ = now + kTick;
    links = links_;
  }
  doorbell_->Beat();
  for (const auto& link : links) link->CheckPeer();
  return true;
}

bool LinkPoller::RunOne() {
  if (num_later_.load() == 0) return false;
  absl::AnyInvocable<void()> work;
  bool has_more = false;
  Threads ended;
  {
    MutexLock lock(mu_);
    if (later_.empty()) return false;
    work = std::move(later_.front());
    later_.pop_front();
    has_more = !later_.empty();
    num_later_.store(later_.size());
    if (--idle_ == 0 && threads_.size() < kMaxThreads) StartThread();
    ended.swap(ended_);
  }
  for (std::thread& thread : ended) thread.join();
  if (has_more) doorbell_->WakeOne();
  work();
  MutexLock lock(mu_);
  ++idle_;
  return true;
}

bool LinkPoller::Stays(Threads::iterator self) {
  MutexLock lock(mu_);
  if (!stopping_ && idle_ <= kSpareThreads) return true;
  --idle_;
  ended_.splice(ended_.end(), threads_, self);
  if (threads_.empty()) all_ended_.notify_all();
  return false;
}

void LinkPoller::Run(Threads::iterator self) {
  SetThreadName("weir-links");
  while (Stays(self)) {
    const uint32_t rings = doorbell_->Rings();
    const bool has_ticked = Tick();
    if (const PollTurn::Id turn = EnterAlone(has_ticked); turn != PollTurn::kNone) {
      const auto is_wanted = [this] { return awaiting_.load(std::memory_order_relaxed) > 0 || num_later_.load() > 0; };
      if (PollUntil(turn, /*in_step=*/false, is_wanted) != Ended::kLostTurn) Leave(turn);
    }
    if (RunOne()) continue;
    absl::Duration until_tick;
    {
      MutexLock lock(mu_);
      if (stopping_) continue;
      until_tick = next_tick_ - MonotonicNow();
    }
    doorbell_->Sleep(rings, std::max(absl::ZeroDuration(), until_tick));
  }
  doorbell_->WakeOne();  // pass on the wake-up that this thread may have received
}

}  // namespace weir
