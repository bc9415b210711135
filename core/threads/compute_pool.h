// The compute threads of a WorkQueue.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "core/mutex.h"

namespace weir {

// A pool of up to a fixed number of threads with one FIFO queue. Thread-safe.
// - A thread is started when it is first needed. The pool works without threads that the system fails to start.
// - Waking a thread costs about 45 µs on a virtual CPU. An idle thread therefore spins for a moment before it sleeps,
//   longer while others compute, and Schedule wakes another only if no thread is about to poll the queue.
// - A woken thread starts on another processor than the one that woke it. The kernel cannot see that a virtual CPU is
//   idle and would otherwise let it wait for milliseconds.
// - A guest is an outside thread that computes in place of one of the pool's threads, so that no more threads compute
//   than there are processors. One pool thread may always run.
// - A task that runs indefinitely keeps its thread. While such tasks block queued ones (LetOthersRun), the pool runs an
//   extra thread for each, at most kMaxExtraThreads.
class ComputePool {
 public:
  using Task = absl::AnyInvocable<void()>;
  // The guests that may run a task, in addition to the pool's threads. Tasks of kAnyone must be short.
  using Owner = const void*;
  static constexpr Owner kNoOwner = nullptr;
  static const Owner kAnyone;

  ComputePool(std::string name, int num_threads) : name_(std::move(name)), num_threads_(num_threads) {}
  ~ComputePool() { Stop(); }

  // Runs the task on the calling thread if the pool is stopped or no thread could be started yet.
  void Schedule(Task task, Owner owner = kNoOwner);
  // Runs all scheduled tasks, then ends the threads.
  void Stop();
  int num_threads() const { return num_threads_; }
  // Tasks that no thread has taken yet.
  int64_t num_queued() const { return queued_.load(std::memory_order_relaxed); }
  bool InThread() const;

  // To be called regularly by tasks that may run indefinitely. If tasks are queued and none has started for 20 ms, one
  // more thread runs until the caller's task ends. Does nothing on other threads than the pool's.
  void LetOthersRun();

  void GuestEnters();
  void GuestLeaves();
  // A task that a guest may run. Null if done() is true, or if nothing arrived for a while.
  Task FindTask(Owner guest, absl::FunctionRef<bool()> done);

 private:
  struct Item {
    Task task;
    Owner owner;
  };
  // One of the threads.
  struct Worker {
    // Makes it wake up on another processor than `cpu`, if it fell asleep there and may run elsewhere.
    void AvoidCpu(int cpu);

    pid_t id = 0;
    std::condition_variable wake;
    bool summoned = false;
    int cpu = -1;                                // where it fell asleep
    std::optional<cpu_set_t> allowed_on_waking;  // set if AvoidCpu changed its affinity
    bool is_stalled = false;                     // its task blocks queued ones: an extra thread runs
    // When its task first saw queued tasks without progress, and the number of tasks that had been started by then.
    std::optional<std::chrono::steady_clock::time_point> stalled_since;
    int64_t stalled_at = 0;
    std::thread thread;
  };
  // How long an idle thread has been spinning.
  class Search;

  void Run(Worker& self);
  // The number of threads that may be awake.
  int Places() const { return std::max(1, num_threads_ - guests_.load()); }
  int Awake() const REQUIRES(mu_) { return static_cast<int>(workers_.size() - asleep_.size()) - num_stalled_; }
  // Ensures that as many threads as there are tasks and places will poll the queue. The caller wakes the returned
  // thread, if any, after releasing the lock.
  Worker* ThreadToWake() REQUIRES(mu_);
  // Starts one more thread, if the system allows it.
  void StartThread() REQUIRES(mu_);
  // Blocks until there is a task; null when the pool stops. `warm`: the thread has just run a task.
  Task Next(Worker& self, bool warm);
  void Sleep(Worker& self, MutexLock& lock) REQUIRES(mu_);
  // Null if there is no task that the guest may run.
  Task TakeFor(Owner guest);
  Task Take(std::deque<Item>::iterator item) REQUIRES(mu_);
  // Releases mu_, spins briefly, and takes mu_ again.
  void Spin() REQUIRES(mu_);

  static constexpr int kMaxExtraThreads = 1024;

  static thread_local Worker* current_;  // this thread, if it is one of a pool's

  const std::string name_;
  const int num_threads_;
  std::atomic<int64_t> taken_{0};   // tasks
  std::atomic<int64_t> queued_{0};  // queue_.size(), for readers without the lock
  std::atomic<int> guests_{0};
  std::atomic<int> computing_{0};  // threads and guests that are computing
  Mutex mu_;
  std::deque<Item> queue_ GUARDED_BY(mu_);
  std::deque<Worker> workers_ GUARDED_BY(mu_);
  std::vector<Worker*> asleep_ GUARDED_BY(mu_);  // not including summoned ones
  int coming_ GUARDED_BY(mu_) = 0;               // threads that will poll the queue without being woken
  int num_stalled_ GUARDED_BY(mu_) = 0;          // threads with is_stalled
  bool spinning_ GUARDED_BY(mu_) = false;
  bool stopping_ GUARDED_BY(mu_) = false;
};

// Names the calling thread for debuggers and ps; the kernel keeps 15 characters.
void SetThreadName(const std::string& name);

// Hints to the processor that this is a spin loop.
inline void SpinPause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

}  // namespace weir
