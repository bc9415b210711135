// The ops of this family through which no gradient flows.
#include "kernels/summary/family.h"

namespace weir {

absl::Status RegisterSummaryNotDifferentiable(OpRegistry& ops) {
  for (const char* op : {"AudioSummary", "AudioSummaryV2", "HistogramSummary", "ImageSummary", "MergeSummary",
                         "ScalarSummary", "TensorSummary", "TensorSummaryV2"}) {
    RETURN_IF_ERROR(ops.RegisterNotDifferentiable(op));
  }
  return absl::OkStatus();
}

}  // namespace weir
