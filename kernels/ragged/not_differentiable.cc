// The ops of this family through which no gradient flows.
#include "kernels/ragged/family.h"

namespace weir {

absl::Status RegisterRaggedNotDifferentiable(OpRegistry& ops) {
  for (const char* op : {"RaggedRange"}) {
    RETURN_IF_ERROR(ops.RegisterNotDifferentiable(op));
  }
  return absl::OkStatus();
}

}  // namespace weir
