// The ops of this family through which no gradient flows.
#include "kernels/debug/family.h"

namespace weir {

absl::Status RegisterDebugNotDifferentiable(OpRegistry& ops) {
  for (const char* op : {"Assert", "Timestamp"}) {
    RETURN_IF_ERROR(ops.RegisterNotDifferentiable(op));
  }
  return absl::OkStatus();
}

}  // namespace weir
