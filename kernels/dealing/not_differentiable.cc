// The ops of this family through which no gradient flows.
#include "kernels/dealing/family.h"

namespace weir {

absl::Status RegisterDealingNotDifferentiable(OpRegistry& ops) {
  for (const char* op : {"DealtIterator", "DealtIteratorGetNext", "InputDealer", "InputDealerAdvance",
                         "InputDealerClaim", "InputDealerTake"}) {
    RETURN_IF_ERROR(ops.RegisterNotDifferentiable(op));
  }
  return absl::OkStatus();
}

}  // namespace weir
