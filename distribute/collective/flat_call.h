// Callbacks that lead to callbacks, without a deep stack.
#pragma once

#include "absl/functional/any_invocable.h"

namespace weir {

// Runs `call` at once, or, within a `call` of this thread that is running, after that. A message that arrives may
// complete a step of another rank of this process, which sends one, and so on: each would lie on the stack of the
// other.
void RunFlat(absl::AnyInvocable<void()> call);

}  // namespace weir
