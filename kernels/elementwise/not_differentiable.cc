// The ops of this family through which no gradient flows.
#include "kernels/elementwise/family.h"

namespace weir {

absl::Status RegisterElementwiseNotDifferentiable(OpRegistry& ops) {
  for (const char* op : {"ApproximateEqual",
                         "BitwiseAnd",
                         "BitwiseOr",
                         "BitwiseXor",
                         "BroadcastArgs",
                         "BroadcastGradientArgs",
                         "Ceil",
                         "Equal",
                         "Floor",
                         "FloorDiv",
                         "Greater",
                         "GreaterEqual",
                         "Invert",
                         "IsFinite",
                         "IsInf",
                         "IsNan",
                         "LeftShift",
                         "Less",
                         "LessEqual",
                         "LogicalAnd",
                         "LogicalNot",
                         "LogicalOr",
                         "NotEqual",
                         "PopulationCount",
                         "RightShift",
                         "Rint",
                         "Round",
                         "TruncateDiv"}) {
    RETURN_IF_ERROR(ops.RegisterNotDifferentiable(op));
  }
  return absl::OkStatus();
}

}  // namespace weir
