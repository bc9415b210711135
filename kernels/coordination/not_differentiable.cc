// The ops of this family through which no gradient flows.
#include "kernels/coordination/family.h"

namespace weir {

absl::Status RegisterCoordinationNotDifferentiable(OpRegistry& ops) {
  for (const char* op : {"AccumulatorTakeGradient", "OrderedMapPeek", "OrderedMapUnstage", "OrderedMapUnstageNoKey",
                         "QueueClose", "QueueDequeue", "QueueDequeueMany", "QueueDequeueUpTo", "QueueEnqueue",
                         "QueueEnqueueMany", "QueueSize", "SparseAccumulatorTakeGradient"}) {
    RETURN_IF_ERROR(ops.RegisterNotDifferentiable(op));
  }
  return absl::OkStatus();
}

}  // namespace weir
