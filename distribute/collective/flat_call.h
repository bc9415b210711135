// Runs chained callbacks without a deep stack.
#pragma once

#include "absl/functional/any_invocable.h"

namespace weir {

// Runs `call` now or, if this thread is already inside such a call, after it. An arriving message may complete a step
// of another rank in this process, which sends a message in turn, and so on: without this, the calls would nest.
void RunFlat(absl::AnyInvocable<void()> call);

}  // namespace weir
