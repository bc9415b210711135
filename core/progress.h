// What a thread without work of its own can do so that what it waits for comes sooner.
#pragma once

#include "absl/functional/function_ref.h"

namespace weir {

// Thread-safe.
class Progress {
 public:
  virtual ~Progress() = default;
  // Takes in what others have sent and runs what waits for it, on this thread, until `enough`. Returns earlier when
  // nothing is likely to come soon, or another thread does the same. Never sleeps.
  virtual void Await(absl::FunctionRef<bool()> enough) = 0;
};

}  // namespace weir
