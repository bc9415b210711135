#include "core/threads/compute_pool.h"

#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <exception>
#include <utility>

#include "core/threads/flush_denormals.h"

namespace weir {
namespace {

using std::chrono::microseconds;
using std::chrono::steady_clock;

// About half the cost of a wake-up: spinning longer would waste more than it saves. While other threads compute, new
// work is likely, so spinning longer pays; it yields the processor to other threads.
constexpr microseconds kAlone{30};
constexpr microseconds kBesideOthers{1000};
constexpr int kPausesPerClockRead = 16;
// Much longer than almost every task, yet too short for a user to notice.
constexpr std::chrono::milliseconds kStall{20};

constexpr char kAnyoneTag = 0;

thread_local const ComputePool* current_pool = nullptr;

}  // namespace

const ComputePool::Owner ComputePool::kAnyone = &kAnyoneTag;
thread_local ComputePool::Worker* ComputePool::current_ = nullptr;

class ComputePool::Search {
 public:
  // Spins briefly. False: it is time to sleep.
  bool KeepSpinning(const ComputePool& pool) {
    for (int i = 0; i < kPausesPerClockRead; ++i) SpinPause();
    const auto spent = steady_clock::now() - start_;
    if (spent < kAlone) return true;
    if (spent > kBesideOthers || pool.computing_.load(std::memory_order_relaxed) == 0) return false;
    std::this_thread::yield();
    return true;
  }

 private:
  const steady_clock::time_point start_ = steady_clock::now();
};

void ComputePool::Worker::AvoidCpu(int here) {
  cpu_set_t allowed;
  if (cpu != here || sched_getaffinity(id, sizeof(allowed), &allowed) != 0 || CPU_COUNT(&allowed) < 2) return;
  allowed_on_waking = allowed;
  CPU_CLR(here, &allowed);
  sched_setaffinity(id, sizeof(allowed), &allowed);
}

void SetThreadName(const std::string& name) { pthread_setname_np(pthread_self(), name.substr(0, 15).c_str()); }

void ComputePool::Stop() {
  std::vector<std::thread> threads;
  {
    MutexLock lock(mu_);
    stopping_ = true;
    for (Worker* worker : asleep_) worker->wake.notify_one();
    for (Worker& worker : workers_) threads.push_back(std::move(worker.thread));
  }
  for (std::thread& thread : threads) {
    if (thread.joinable()) thread.join();
  }
}

bool ComputePool::InThread() const { return current_pool == this; }

void ComputePool::Schedule(Task task, Owner owner) {
  Worker* summoned = nullptr;
  {
    MutexLock lock(mu_);
    if (!stopping_) {
      queue_.push_back({std::exchange(task, nullptr), owner});
      queued_.store(queue_.size());  // before ThreadToWake checks for guests, because a leaving guest then checks here
      summoned = ThreadToWake();
      if (workers_.empty()) {  // no thread would ever run it
        task = std::move(queue_.back().task);
        queue_.pop_back();
        queued_.store(queue_.size());
      }
    }
  }
  if (summoned != nullptr) summoned->wake.notify_one();
  if (task != nullptr) task();
}

void ComputePool::LetOthersRun() {
  if (queued_.load(std::memory_order_relaxed) == 0 || !InThread() || current_->is_stalled) return;
  Worker& self = *current_;
  const int64_t taken = taken_.load(std::memory_order_relaxed);
  const auto now = steady_clock::now();
  if (!self.stalled_since || std::exchange(self.stalled_at, taken) != taken) self.stalled_since = now;
  if (now - *self.stalled_since < kStall) return;
  Worker* summoned = nullptr;
  {
    MutexLock lock(mu_);
    if (stopping_ || num_stalled_ == kMaxExtraThreads) return;
    self.is_stalled = true;
    ++num_stalled_;
    summoned = ThreadToWake();
  }
  if (summoned != nullptr) summoned->wake.notify_one();
}

void ComputePool::GuestEnters() {
  guests_.fetch_add(1, std::memory_order_relaxed);
  computing_.fetch_add(1, std::memory_order_relaxed);
}

void ComputePool::GuestLeaves() {
  computing_.fetch_sub(1, std::memory_order_relaxed);
  guests_.fetch_sub(1);
  if (queued_.load() == 0) return;
  Worker* summoned = nullptr;
  {
    MutexLock lock(mu_);
    if (!stopping_) summoned = ThreadToWake();
  }
  if (summoned != nullptr) summoned->wake.notify_one();
}

ComputePool::Task ComputePool::FindTask(Owner guest, absl::FunctionRef<bool()> done) {
  computing_.fetch_sub(1, std::memory_order_relaxed);
  Task task;
  for (Search search; !done();) {
    task = TakeFor(guest);
    if (task != nullptr || !search.KeepSpinning(*this)) break;
  }
  computing_.fetch_add(1, std::memory_order_relaxed);
  return task;
}

ComputePool::Worker* ComputePool::ThreadToWake() {
  if (static_cast<int>(queue_.size()) <= coming_ || Awake() >= Places()) return nullptr;
  if (!asleep_.empty()) {
    ++coming_;
    Worker* const worker = asleep_.back();
    asleep_.pop_back();
    worker->summoned = true;
    worker->AvoidCpu(sched_getcpu());
    return worker;
  }
  if (static_cast<int>(workers_.size()) < num_threads_ + num_stalled_) StartThread();
  return nullptr;
}

void ComputePool::StartThread() {
  Worker& worker = workers_.emplace_back();
  ++coming_;
  try {
    worker.thread = std::thread([this, &worker] { Run(worker); });
  } catch (const std::exception&) {  // no thread, or no memory for one
    workers_.pop_back();
    --coming_;
  }
}

void ComputePool::Run(Worker& self) {
  current_pool = this;
  current_ = &self;
  SetThreadName(name_);
  self.id = gettid();
  const FlushDenormals flush;
  {
    MutexLock lock(mu_);
    --coming_;
  }
  bool warm = false;
  while (Task task = Next(self, warm)) {
    computing_.fetch_add(1, std::memory_order_relaxed);
    task();
    computing_.fetch_sub(1, std::memory_order_relaxed);
    warm = true;
    self.stalled_since.reset();
    if (!self.is_stalled) continue;
    MutexLock lock(mu_);
    self.is_stalled = false;
    --num_stalled_;
  }
}

ComputePool::Task ComputePool::Next(Worker& self, bool warm) {
  MutexLock lock(mu_);
  for (;;) {
    if (!queue_.empty() && (stopping_ || Awake() <= Places())) return Take(queue_.begin());
    if (stopping_) return nullptr;
    if (std::exchange(warm, false) && queue_.empty() && !spinning_) {
      Spin();
    } else {
      Sleep(self, lock);
    }
  }
}

void ComputePool::Sleep(Worker& self, MutexLock& lock) {
  self.summoned = false;
  self.cpu = sched_getcpu();
  asleep_.push_back(&self);
  while (!self.summoned && !stopping_) lock.Wait(self.wake);
  if (self.summoned) {
    --coming_;
  } else {
    std::erase(asleep_, &self);
  }
  if (const auto allowed = std::exchange(self.allowed_on_waking, std::nullopt)) {
    sched_setaffinity(0, sizeof(*allowed), &*allowed);
  }
}

ComputePool::Task ComputePool::TakeFor(Owner guest) {
  if (queued_.load(std::memory_order_acquire) == 0) return nullptr;
  MutexLock lock(mu_);
  for (auto item = queue_.begin(); item != queue_.end(); ++item) {
    if (item->owner == guest || item->owner == kAnyone) return Take(item);
  }
  return nullptr;
}

ComputePool::Task ComputePool::Take(std::deque<Item>::iterator item) {
  Task task = std::move(item->task);
  queue_.erase(item);
  taken_.fetch_add(1, std::memory_order_relaxed);
  queued_.store(queue_.size(), std::memory_order_relaxed);
  return task;
}

void ComputePool::Spin() {
  spinning_ = true;
  ++coming_;
  mu_.unlock();
  for (Search search; queued_.load(std::memory_order_acquire) == 0 && search.KeepSpinning(*this);) {
  }
  mu_.lock();
  spinning_ = false;
  --coming_;
}

}  // namespace weir
