#include "core/threads/suspension_watch.h"

#include <time.h>

#include "core/clock.h"

namespace weir {
namespace {

constexpr absl::Duration kBeat = absl::Milliseconds(100);

// Counts time in which the machine is suspended too.
int64_t BootNanos() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

std::optional<absl::Duration> SuspensionRecord::Beat(int64_t now_nanos) {
  const int64_t gap = now_nanos - beat_nanos_.load(std::memory_order_relaxed);
  const bool stood_still = gap > limit_nanos_;
  if (stood_still) fenced_until_nanos_.store(now_nanos + settling_nanos_, std::memory_order_release);
  beat_nanos_.store(now_nanos, std::memory_order_release);
  if (!stood_still) return std::nullopt;
  return absl::Nanoseconds(gap);
}

SuspensionWatch::SuspensionWatch(Options options)
    : options_(std::move(options)),
      record_(options_.limit, options_.settling, BootNanos()),
      thread_([this] { Watch(); }) {}

SuspensionWatch::~SuspensionWatch() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void SuspensionWatch::Watch() {
  while (true) {
    const std::optional<absl::Duration> stood_still = record_.Beat(BootNanos());
    if (stood_still && options_.returned) options_.returned(*stood_still);
    MutexLock lock(mu_);
    if (stopping_) return;
    lock.WaitUntil(changed_, ToSteady(MonotonicNow() + kBeat));
  }
}

absl::Status SuspensionWatch::Check() const {
  if (!record_.IsFenced(BootNanos())) return absl::OkStatus();
  return errors::Unavailable("The task was suspended for more than ", absl::FormatDuration(options_.limit),
                             " and rejects steps until it has settled; retry");
}

}  // namespace weir
