#include "client/task_loss.h"

namespace weir {

bool IsTaskLoss(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsAborted(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsCancelled(status);
}

bool MayBeStateLoss(const absl::Status& status) {
  return absl::IsFailedPrecondition(status) || absl::IsNotFound(status);
}

}  // namespace weir
