// The ops of this family through which no gradient flows.
#include "kernels/containers/family.h"

namespace weir {

absl::Status RegisterContainersNotDifferentiable(OpRegistry& ops) {
  for (const char* op : {"Stack", "StackClose", "StackPop", "StackPush"}) {
    RETURN_IF_ERROR(ops.RegisterNotDifferentiable(op));
  }
  return absl::OkStatus();
}

}  // namespace weir
