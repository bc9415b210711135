// The ops of this family through which no gradient flows.
#include "kernels/indexing/family.h"

namespace weir {

absl::Status RegisterIndexingNotDifferentiable(OpRegistry& ops) {
  for (const char* op : {"OneHot", "Where"}) {
    RETURN_IF_ERROR(ops.RegisterNotDifferentiable(op));
  }
  return absl::OkStatus();
}

}  // namespace weir
