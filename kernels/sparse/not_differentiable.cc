// The ops of this family through which no gradient flows.
#include "kernels/sparse/family.h"

namespace weir {

absl::Status RegisterSparseNotDifferentiable(OpRegistry& ops) {
  for (const char* op :
       {"AddManySparseToTensorsMap", "AddSparseToTensorsMap", "DenseToDenseSetOperation", "DenseToSparseSetOperation",
        "DeserializeManySparse", "EditDistance", "SetSize", "SparseAddGrad", "SparseConcat", "SparseCross",
        "SparseCrossHashed", "SparseToSparseSetOperation", "TakeManySparseFromTensorsMap"}) {
    RETURN_IF_ERROR(ops.RegisterNotDifferentiable(op));
  }
  return absl::OkStatus();
}

}  // namespace weir
