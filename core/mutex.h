// std::mutex and friends with clang's thread-safety annotations. absl::Mutex is not used: Debian's build of it gives
// ThreadSanitizer false positives.
#pragma once

#include <condition_variable>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "core/api.h"

#if defined(__clang__)
#define WEIR_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define WEIR_THREAD_ANNOTATION(x)
#endif

// Abseil's headers define the first two identically.
#ifndef GUARDED_BY
#define GUARDED_BY(x) WEIR_THREAD_ANNOTATION(guarded_by(x))
#endif
#ifndef PT_GUARDED_BY
#define PT_GUARDED_BY(x) WEIR_THREAD_ANNOTATION(pt_guarded_by(x))
#endif
#define REQUIRES(...) WEIR_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define EXCLUDES(...) WEIR_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))

namespace WEIR_API weir {

class WEIR_THREAD_ANNOTATION(capability("mutex")) Mutex {
 public:
  void lock() WEIR_THREAD_ANNOTATION(acquire_capability()) { mutex_.lock(); }
  void unlock() WEIR_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }
  bool try_lock() WEIR_THREAD_ANNOTATION(try_acquire_capability(true)) { return mutex_.try_lock(); }
  std::mutex& native() { return mutex_; }

 private:
  std::mutex mutex_;
};

class WEIR_THREAD_ANNOTATION(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) WEIR_THREAD_ANNOTATION(acquire_capability(mutex)) : lock_(mutex.native()) {}
  ~MutexLock() WEIR_THREAD_ANNOTATION(release_capability()) {}

  // Waits on `cv` with this lock; the caller handles spurious wake-ups.
  void Wait(std::condition_variable& cv) { cv.wait(lock_); }
  template <typename TimePoint>
  std::cv_status WaitUntil(std::condition_variable& cv, TimePoint deadline) {
    return cv.wait_until(lock_, deadline);
  }

 private:
  std::unique_lock<std::mutex> lock_;
};

}  // namespace weir
