#include "tools/interruption.h"

#include <pthread.h>
#include <signal.h>

#include "core/clock.h"
#include "core/status.h"

namespace weir {
namespace {

sigset_t Signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

}  // namespace

Interruption::Interruption() {
  const sigset_t signals = Signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  thread_ = std::thread([this] { Watch(); });
}

Interruption::~Interruption() {
  ending_ = true;
  thread_.join();
  const sigset_t signals = Signals();
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

void Interruption::Watch() {
  const sigset_t signals = Signals();
  while (!ending_) {
    constexpr timespec kTick = {.tv_sec = 0, .tv_nsec = 50'000'000};
    if (sigtimedwait(&signals, nullptr, &kTick) < 0) continue;
    has_come_ = true;
    cancellation_.StartCancel(errors::Cancelled("Interrupted"));
    MutexLock lock(mu_);
    came_.notify_all();
  }
}

bool Interruption::Sleep(absl::Duration duration) {
  const absl::Time end = MonotonicNow() + duration;
  MutexLock lock(mu_);
  while (!has_come_ && MonotonicNow() < end) lock.WaitUntil(came_, ToSteady(end));
  return !has_come_;
}

}  // namespace weir
