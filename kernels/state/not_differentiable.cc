// The ops of this family through which no gradient flows.
#include "kernels/state/family.h"

namespace weir {

absl::Status RegisterStateNotDifferentiable(OpRegistry& ops) {
  for (const char* op :
       {"Assign", "AssignAdd", "AssignSub", "CountUpTo", "IsVariableInitialized", "ScatterAdd", "ScatterDiv",
        "ScatterMul", "ScatterNdAdd", "ScatterNdSub", "ScatterNdUpdate", "ScatterSub", "SnapshotVariable",
        "TemporaryVariable", "VarHandleOp", "VarIsInitializedOp", "Variable", "VariableShape", "VariableV2"}) {
    RETURN_IF_ERROR(ops.RegisterNotDifferentiable(op));
  }
  return absl::OkStatus();
}

}  // namespace weir
