#include "distribute/collective/flat_call.h"

#include <deque>
#include <utility>

namespace weir {

void RunFlat(absl::AnyInvocable<void()> call) {
  thread_local std::deque<absl::AnyInvocable<void()>>* waiting = nullptr;
  if (waiting != nullptr) {
    waiting->push_back(std::move(call));
    return;
  }
  std::deque<absl::AnyInvocable<void()>> calls;
  waiting = &calls;
  call();
  while (!calls.empty()) {
    absl::AnyInvocable<void()> next = std::move(calls.front());
    calls.pop_front();
    next();
  }
  waiting = nullptr;
}

}  // namespace weir
