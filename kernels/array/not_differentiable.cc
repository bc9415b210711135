// The ops of this family through which no gradient flows.
#include "kernels/array/family.h"

namespace weir {

absl::Status RegisterArrayNotDifferentiable(OpRegistry& ops) {
  for (const char* op : {"Assert", "ConcatOffset", "Empty", "InvertPermutation", "OnesLike", "Rank", "Shape", "ShapeN",
                         "Size", "ZerosLike"}) {
    RETURN_IF_ERROR(ops.RegisterNotDifferentiable(op));
  }
  return absl::OkStatus();
}

}  // namespace weir
