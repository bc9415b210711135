#include "kernels/ops/rare_families.h"
#include "kernels/ops/saved_families.h"

namespace weir {

absl::Status RegisterRareOps(OpRegistry& ops) {
  RETURN_IF_ERROR(RegisterMatrixFunctionOps(ops));
  RETURN_IF_ERROR(RegisterProbeOps(ops));
  RETURN_IF_ERROR(RegisterDebugOps(ops));
  RETURN_IF_ERROR(RegisterSearchOps(ops));
  RETURN_IF_ERROR(RegisterRareDatasetOps(ops));
  RETURN_IF_ERROR(RegisterBatchingOps(ops));
  RETURN_IF_ERROR(RegisterTensorMapOps(ops));
  RETURN_IF_ERROR(RegisterSavedDatasetOps(ops));
  RETURN_IF_ERROR(RegisterProtoOps(ops));
  RETURN_IF_ERROR(RegisterQuantizedElementOps(ops));
  RETURN_IF_ERROR(RegisterUniformQuantizedOps(ops));
  return RegisterQuantizedOps(ops);
}

}  // namespace weir
