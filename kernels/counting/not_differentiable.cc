// The ops of this family through which no gradient flows.
#include "kernels/counting/family.h"

namespace weir {

absl::Status RegisterCountingNotDifferentiable(OpRegistry& ops) {
  for (const char* op : {"Bucketize", "DataFormatDimMap", "DataFormatVecPermute", "HistogramFixedWidth", "LowerBound",
                         "UnravelIndex", "UpperBound"}) {
    RETURN_IF_ERROR(ops.RegisterNotDifferentiable(op));
  }
  return absl::OkStatus();
}

}  // namespace weir
