// The ops of this family through which no gradient flows.
#include "kernels/control/family.h"

namespace weir {

absl::Status RegisterControlNotDifferentiable(OpRegistry& ops) {
  for (const char* op :
       {"Abort", "DeleteSessionTensor", "GetSessionHandle", "GetSessionHandleV2", "GetSessionTensor", "ToBool"}) {
    RETURN_IF_ERROR(ops.RegisterNotDifferentiable(op));
  }
  return absl::OkStatus();
}

}  // namespace weir
