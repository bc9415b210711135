#include "core/threads/work_queue.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include "core/mutex.h"
#include "core/threads/blocking_pool.h"
#include "core/threads/compute_pool.h"

namespace weir {
namespace {

// Waking a thread costs about 45 µs, so a loop below twice that finishes before help arrives.
constexpr double kMinParallelNanos = 100'000;
// The minimum work for each participating thread.
constexpr double kNanosPerThread = 50'000;
// Small enough that the threads finish together, large enough that taking a block costs little.
constexpr double kMinBlockNanos = 10'000;
constexpr int kBlocksPerThread = 4;
constexpr std::chrono::microseconds kSpinTime{50};

using RangeFunction = std::function<void(int64_t, int64_t)>;

// One parallel loop. Threads take blocks until none are left; a late one finds nothing and never touches `fn`, which
// lives only as long as the caller waits.
class Loop {
 public:
  Loop(int64_t total, int64_t block, const RangeFunction& fn)
      : total_(total), block_(block), num_blocks_((total + block - 1) / block), fn_(&fn) {}

  void Work() {
    for (;;) {
      const int64_t i = next_.fetch_add(1, std::memory_order_relaxed);
      if (i >= num_blocks_) return;
      const int64_t begin = i * block_;
      try {
        (*fn_)(begin, std::min(total_, begin + block_));
      } catch (...) {
        MutexLock lock(mu_);
        if (!thrown_) thrown_ = std::current_exception();
      }
      if (done_.fetch_add(1, std::memory_order_acq_rel) + 1 == num_blocks_) {
        MutexLock lock(mu_);
        finished_.notify_all();
      }
    }
  }

  // Waits for blocks that other threads took. They are running, so this cannot deadlock, nested or not. Rethrows a
  // block's std::bad_alloc.
  void Wait() {
    const auto deadline = std::chrono::steady_clock::now() + kSpinTime;
    while (!Done()) {
      SpinPause();
      if (std::chrono::steady_clock::now() < deadline) continue;
      MutexLock lock(mu_);
      while (!Done()) lock.Wait(finished_);
    }
    MutexLock lock(mu_);
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  bool Done() const { return done_.load(std::memory_order_acquire) == num_blocks_; }

  const int64_t total_;
  const int64_t block_;
  const int64_t num_blocks_;
  const RangeFunction* const fn_;
  std::atomic<int64_t> next_{0};
  std::atomic<int64_t> done_{0};
  Mutex mu_;
  std::condition_variable finished_;
  std::exception_ptr thrown_ GUARDED_BY(mu_);
};

class ThreadedWorkQueue : public WorkQueue {
 public:
  explicit ThreadedWorkQueue(const Options& options)
      : compute_(options.name, options.compute_threads),
        blocking_(options.name + "-io", options.max_blocking_threads) {}

  // Tasks of either kind may schedule the other kind until the end: compute tasks while blocking_ still runs, blocking
  // tasks when compute_ runs them on their own thread.
  ~ThreadedWorkQueue() override { compute_.Stop(); }

  void Schedule(absl::AnyInvocable<void()> task, const void* owner) override {
    compute_.Schedule(std::move(task), owner);
  }
  void ScheduleBlocking(absl::AnyInvocable<void()> task) override { blocking_.Schedule(std::move(task)); }
  int num_threads() const override { return compute_.num_threads(); }
  bool InComputeThread() const override { return compute_.InThread(); }
  ComputePool& compute_pool() override { return compute_; }

  void ParallelFor(int64_t total, int64_t cost_per_unit, const RangeFunction& fn) override {
    if (total <= 0) return;
    const double unit_nanos = std::max<int64_t>(cost_per_unit, 1);
    const double nanos = unit_nanos * total;
    const int threads = static_cast<int>(std::min<double>(nanos / kNanosPerThread, compute_.num_threads()));
    if (nanos < kMinParallelNanos || threads < 2 || total < 2) return fn(0, total);

    const int64_t even_block =
        (total + int64_t{threads} * kBlocksPerThread - 1) / (int64_t{threads} * kBlocksPerThread);
    const int64_t min_block = static_cast<int64_t>(std::min<double>(kMinBlockNanos / unit_nanos + 1, total));
    const int64_t block = std::max(even_block, min_block);
    const int64_t num_blocks = (total + block - 1) / block;
    auto loop = std::make_shared<Loop>(total, block, fn);
    const int64_t others = std::min<int64_t>(threads, num_blocks) - 1;
    for (int64_t i = 0; i < others; ++i) compute_.Schedule([loop] { loop->Work(); }, ComputePool::kAnyone);
    loop->Work();
    loop->Wait();
  }

 private:
  ComputePool compute_;
  BlockingPool blocking_;
};

}  // namespace

std::unique_ptr<WorkQueue> WorkQueue::Create(Options options) {
  if (options.compute_threads <= 0) options.compute_threads = std::max(1u, std::thread::hardware_concurrency());
  options.max_blocking_threads = std::max(options.max_blocking_threads, 1);
  return std::make_unique<ThreadedWorkQueue>(options);
}

}  // namespace weir
