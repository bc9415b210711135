// The ops of this family through which no gradient flows.
#include "kernels/recurrent/family.h"

namespace weir {

absl::Status RegisterRecurrentNotDifferentiable(OpRegistry& ops) {
  for (const char* op : {"CTCGreedyDecoder"}) {
    RETURN_IF_ERROR(ops.RegisterNotDifferentiable(op));
  }
  return absl::OkStatus();
}

}  // namespace weir
