// Lets a waiting thread poll for messages itself, so that no other thread has to be woken.
#pragma once

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"

namespace weir {

// Thread-safe. No method sleeps.
class BusyPoller {
 public:
  virtual ~BusyPoller() = default;
  // Receives messages and runs their handlers on this thread until `enough`. Returns earlier if nothing is likely to
  // arrive soon, or if another thread polls already.
  virtual void Await(absl::FunctionRef<bool()> enough) = 0;
  // As Await, but this thread keeps its turn: until it polls again or calls Rest, messages wake no other thread. The
  // caller must call Rest before work that may take longer than waking a thread.
  virtual void AwaitAndStay(absl::FunctionRef<bool()> enough) = 0;
  virtual void Rest() = 0;
  // On a dedicated polling thread: runs `work`, which may compute, once the thread has stopped polling, without waking
  // another thread. On any other thread: returns false and leaves `work` alone.
  virtual bool RunSoon(absl::AnyInvocable<void()>& work) = 0;
  // True in handlers that run inside Await on the calling thread: they may compute.
  virtual bool IsInAwait() const = 0;
};

}  // namespace weir
