// The ops of this family through which no gradient flows.
#include "kernels/quantized/family.h"

namespace weir {

absl::Status RegisterQuantizedNotDifferentiable(OpRegistry& ops) {
  for (const char* op : {"FakeQuantWithMinMaxArgsGradient", "FakeQuantWithMinMaxVarsGradient",
                         "FakeQuantWithMinMaxVarsPerChannelGradient"}) {
    RETURN_IF_ERROR(ops.RegisterNotDifferentiable(op));
  }
  return absl::OkStatus();
}

}  // namespace weir
