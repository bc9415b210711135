// The compute threads of a WorkQueue.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <algorithm>
#include <atomic>
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

// Up to a fixed number of threads over one queue in order of arrival. Each is started when it is first needed; one that
// the system refuses is done without. Waking a thread costs some 45 µs on a virtual CPU, so a thread that ran out of
// work looks for more for a moment before it sleeps, longer while others compute, and Schedule wakes another only where
// no thread is about to look. A woken thread starts on another processor than the one that woke it: the kernel, which
// cannot see that a virtual CPU is idle, would else let it wait behind it for milliseconds.
//
// A guest is a thread from outside that computes in the place of one of the pool's, so that no more threads compute
// than there are processors; one of the pool's goes on in any case. Thread-safe.
class ComputePool {
 public:
  using Task = absl::AnyInvocable<void()>;
  // Whose guest may run a task beside the threads. Tasks of kAnyone are brief.
  using Owner = const void*;
  static constexpr Owner kNobody = nullptr;
  static const Owner kAnyone;

  ComputePool(std::string name, int num_threads) : name_(std::move(name)), num_threads_(num_threads) {}
  ~ComputePool() { Stop(); }

  // On the calling thread once the pool is stopped, or when no thread could be started yet.
  void Schedule(Task task, Owner owner = kNobody);
  // Runs what was scheduled, then ends the threads.
  void Stop();
  int num_threads() const { return num_threads_; }
  bool InThread() const;

  void GuestEnters();
  void GuestLeaves();
  // A task that a guest may run. Null when done() is true, or nothing has come for a while.
  Task FindTask(Owner guest, absl::FunctionRef<bool()> done);

 private:
  struct Item {
    Task task;
    Owner owner;
  };
  // One of the threads.
  struct Worker {
    // Has it start elsewhere than on `cpu`, if that is where it fell asleep and it may run on another.
    void KeepOff(int cpu);

    pid_t id = 0;
    std::condition_variable wake;
    bool summoned = false;
    int cpu = -1;                                // where it fell asleep
    std::optional<cpu_set_t> allowed_on_waking;  // what KeepOff changed
    std::thread thread;
  };
  // How long a thread without work has looked for some.
  class Search;

  void Run(Worker& self);
  // How many of the threads may be awake.
  int Places() const { return std::max(1, num_threads_ - guests_.load()); }
  int Awake() const REQUIRES(mu_) { return static_cast<int>(workers_.size() - asleep_.size()); }
  // Sees to it that as many threads as there are tasks, and places, will look into the queue. The caller wakes the one
  // that is returned, if any, without the lock.
  Worker* SummonThread() REQUIRES(mu_);
  // One more, if the system has one to give.
  void StartThread() REQUIRES(mu_);
  // Blocks until there is a task; null when the pool stops. `warm`: the thread ran a task just now.
  Task Next(Worker& self, bool warm);
  void Sleep(Worker& self, MutexLock& lock) REQUIRES(mu_);
  // Null: none that a guest may run.
  Task TakeFor(Owner guest);
  Task Take(std::deque<Item>::iterator item) REQUIRES(mu_);
  // Releases mu_, waits briefly for work, takes mu_ again.
  void Spin() REQUIRES(mu_);

  const std::string name_;
  const int num_threads_;
  std::atomic<int64_t> queued_{0};  // queue_.size(), for those who look without the lock
  std::atomic<int> guests_{0};
  std::atomic<int> computing_{0};  // threads and guests that do
  Mutex mu_;
  std::deque<Item> queue_ GUARDED_BY(mu_);
  std::deque<Worker> workers_ GUARDED_BY(mu_);
  std::vector<Worker*> asleep_ GUARDED_BY(mu_);  // and not summoned
  int coming_ GUARDED_BY(mu_) = 0;               // threads that will look into the queue without being woken
  bool spinning_ GUARDED_BY(mu_) = false;
  bool stopping_ GUARDED_BY(mu_) = false;
};

// Names the calling thread for debuggers and ps; the kernel keeps 15 characters.
void SetThreadName(const std::string& name);

// Tells the processor that this is a waiting loop.
inline void SpinPause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

}  // namespace weir
