// Ops without gradients.
#include "kernels/linalg/family.h"

namespace weir {

absl::Status RegisterLinalgNotDifferentiable(OpRegistry& ops) {
  for (const char* op : {"LinSpace", "Range"}) {
    RETURN_IF_ERROR(ops.RegisterNotDifferentiable(op));
  }
  return absl::OkStatus();
}

}  // namespace weir
