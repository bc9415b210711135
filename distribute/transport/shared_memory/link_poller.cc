#include "distribute/transport/shared_memory/link_poller.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/compute_pool.h"

namespace weir {
namespace {

// Between looks at whether peers live, and between signs of life. A peer that is killed is missed within one of them.
constexpr absl::Duration kTick = absl::Milliseconds(250);
// Longer waits are not worth a processor; shorter ones always are.
constexpr int64_t kLongestLook = 500'000;
constexpr int64_t kShortestLook = 20'000;
// After that another thread that wants the processor gets it.
constexpr int64_t kAlone = 2'000;
constexpr int kPausesPerLook = 8;
// Somebody computed meanwhile who is not about to stop. To be woken is then sooner than to get the processor back.
constexpr int64_t kSlowYield = 200'000;
constexpr int64_t kCrowdedFor = 100'000'000;

thread_local int in_await = 0;

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
    links_.push_back(std::move(link));
    version_.fetch_add(1);
    has_links_.store(true);
    if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
  }
  // What the peer has written before it could ring.
  doorbell_->Wake();
  return absl::OkStatus();
}

void LinkPoller::Remove(const PolledLink* link) {
  std::shared_ptr<PolledLink> removed;  // let go of without the lock
  MutexLock lock(mu_);
  const auto it = std::find_if(links_.begin(), links_.end(), [&](const auto& known) { return known.get() == link; });
  if (it == links_.end()) return;
  removed = std::move(*it);
  links_.erase(it);
  version_.fetch_add(1);
  has_links_.store(!links_.empty());
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
  std::thread thread;
  {
    MutexLock lock(mu_);
    stopping_ = true;
    thread = std::move(thread_);
  }
  doorbell_->Wake();
  if (thread.joinable()) thread.join();
  for (const auto& link : Snapshot()) link->Break(errors::Unavailable("The task is shutting down"));
}

bool LinkPoller::TryEnter() {
  if (is_looking_.load(std::memory_order_relaxed) || is_looking_.exchange(true)) return false;
  doorbell_->Disarm();
  return true;
}

void LinkPoller::Leave() {
  for (;;) {
    doorbell_->Arm();
    if (!HasWork()) {
      is_looking_.store(false);
      // Whoever was rung for between the two has found this thread looking, and sleeps again.
      if (doorbell_->IsArmed() || !TryEnter()) return;
    }
    doorbell_->Disarm();
    PollOnce();
  }
}

void LinkPoller::RefreshLinks() {
  const uint64_t version = version_.load();
  if (version == looked_at_version_) return;
  looked_at_ = Snapshot();
  looked_at_version_ = version;
}

bool LinkPoller::HasWork() {
  RefreshLinks();
  return std::any_of(looked_at_.begin(), looked_at_.end(), [](const auto& link) { return link->HasWork(); });
}

bool LinkPoller::PollOnce() {
  RefreshLinks();
  bool any = false;
  for (const auto& link : looked_at_) {
    if (!link->HasWork()) continue;
    if (const int64_t since = waits_since_.exchange(0); since != 0) Learn(NowNanos() - since);
    any = link->Poll() || any;
  }
  return any;
}

void LinkPoller::Learn(int64_t waited_nanos) {
  const int64_t waited = std::min(waited_nanos, 4 * kLongestLook);
  expected_nanos_.store((3 * expected_nanos_.load(std::memory_order_relaxed) + waited) / 4, std::memory_order_relaxed);
}

int64_t LinkPoller::Patience() const {
  const int64_t expected = expected_nanos_.load(std::memory_order_relaxed);
  return expected > kLongestLook ? kShortestLook : std::clamp(4 * expected, kShortestLook, kLongestLook);
}

void LinkPoller::Look(bool learns, absl::FunctionRef<bool()> enough) {
  int64_t start = 0;
  while (!enough()) {
    if (PollOnce()) {
      start = 0;
      continue;
    }
    if (start == 0) {
      start = NowNanos();
      if (learns) waits_since_.store(start);
    }
    for (int i = 0; i < kPausesPerLook; ++i) SpinPause();
    const int64_t now = NowNanos(), spent = now - start;
    const bool is_crowded = now < crowded_until_.load(std::memory_order_relaxed);
    if (spent > (is_crowded ? kShortestLook : Patience())) return;
    if (is_crowded || spent < kAlone) continue;
    std::this_thread::yield();
    if (const int64_t back = NowNanos(); back - now > kSlowYield) crowded_until_.store(back + kCrowdedFor);
  }
}

bool LinkPoller::InAwait() { return in_await > 0; }

void LinkPoller::Await(absl::FunctionRef<bool()> enough) {
  if (!has_links_.load(std::memory_order_relaxed)) return;
  // The poller's own thread makes room; any other goes on looking.
  if (awaiting_.fetch_add(1) == 0) {
    const int64_t start = NowNanos();
    bool entered = TryEnter();
    while (!entered && !enough() && NowNanos() - start < kShortestLook) {
      std::this_thread::yield();
      entered = TryEnter();
    }
    if (entered) {
      ++in_await;
      Look(/*learns=*/true, enough);
      Leave();
      --in_await;
    }
  }
  awaiting_.fetch_sub(1);
}

void LinkPoller::Run() {
  SetThreadName("weir-links");
  absl::Time next_tick = absl::Now();
  for (;;) {
    const uint32_t rings = doorbell_->Rings();
    {
      MutexLock lock(mu_);
      if (stopping_) return;
    }
    if (const absl::Time now = absl::Now(); now >= next_tick) {
      doorbell_->Beat();
      for (const auto& link : Snapshot()) link->CheckPeer();
      next_tick = now + kTick;
    }
    if (TryEnter()) {
      Look(/*learns=*/false, [this] { return awaiting_.load(std::memory_order_relaxed) > 0; });
      Leave();
    }
    doorbell_->Sleep(rings, std::max(absl::ZeroDuration(), next_tick - absl::Now()));
  }
}

}  // namespace weir
