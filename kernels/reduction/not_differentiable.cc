// The ops of this family through which no gradient flows.
#include "kernels/reduction/family.h"

namespace weir {

absl::Status RegisterReductionNotDifferentiable(OpRegistry& ops) {
  for (const char* op : {"All", "Any", "ArgMax", "ArgMin"}) {
    RETURN_IF_ERROR(ops.RegisterNotDifferentiable(op));
  }
  return absl::OkStatus();
}

}  // namespace weir
