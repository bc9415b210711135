// The ops of this family through which no gradient flows.
#include "kernels/data/family.h"

namespace weir {

absl::Status RegisterDataNotDifferentiable(OpRegistry& ops) {
  for (const char* op :
       {"IteratorGetNext", "IteratorGetNextSync", "MultiDeviceIteratorGetNextFromShard", "ReduceDataset"}) {
    RETURN_IF_ERROR(ops.RegisterNotDifferentiable(op));
  }
  return absl::OkStatus();
}

}  // namespace weir
