// What a thread without work of its own can do so that what it waits for comes sooner.
#pragma once

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"

namespace weir {

// Thread-safe.
class Progress {
 public:
  virtual ~Progress() = default;
  // Takes in what others have sent and runs what waits for it, on this thread, until `enough`. Returns earlier when
  // nothing is likely to come soon, or another thread does the same. Never sleeps.
  virtual void Await(absl::FunctionRef<bool()> enough) = 0;
  // The same. What comes after `enough` wakes nobody until this thread awaits again or rests, which it does as soon as
  // what it has to do meanwhile may take longer than to wake another thread.
  virtual void AwaitAndStay(absl::FunctionRef<bool()> enough) = 0;
  virtual void Rest() = 0;
  // On a thread of its own that takes in what others have sent: runs `work`, which may compute, when it has done so,
  // and wakes nobody. False, and `work` stays, on any other thread.
  virtual bool RunSoon(absl::AnyInvocable<void()>& work) = 0;
};

}  // namespace weir
