#include "client/strategy/chief_hook.h"

namespace weir {

absl::Status ChiefHook::Start() {
  ASSIGN_OR_RETURN(session_, connect_());
  thread_.emplace(session_.get(), steps_);
  return absl::OkStatus();
}

absl::Status ChiefHook::Begin(Session&, int64_t) { return Start(); }

absl::StatusOr<bool> ChiefHook::AfterStep(Session&, const StepReport&) {
  if (!thread_.has_value()) RETURN_IF_ERROR(Start());
  return false;
}

void ChiefHook::Failed(const absl::Status&, int64_t) {
  thread_.reset();
  session_ = nullptr;
}

}  // namespace weir
