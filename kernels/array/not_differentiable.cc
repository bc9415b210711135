// The ops of this family through which no gradient flows.
#include "kernels/array/family.h"

namespace weir {

absl::Status RegisterArrayNotDifferentiable(OpRegistry& ops) {
  for (const char* op :
       {"ConcatOffset", "Const", "Empty", "InvertPermutation", "LinSpace", "NoOp", "OnesLike", "Placeholder",
        "PlaceholderV2", "Range", "Rank", "Shape", "ShapeN", "Size", "StopGradient", "ZerosLike"}) {
    RETURN_IF_ERROR(ops.RegisterNotDifferentiable(op));
  }
  return absl::OkStatus();
}

}  // namespace weir
