// The ops of this family through which no gradient flows.
#include "kernels/ctc/family.h"

namespace weir {

absl::Status RegisterCtcNotDifferentiable(OpRegistry& ops) {
  for (const char* op : {"CTCBeamSearchDecoder", "CTCGreedyDecoder"}) {
    RETURN_IF_ERROR(ops.RegisterNotDifferentiable(op));
  }
  return absl::OkStatus();
}

}  // namespace weir
