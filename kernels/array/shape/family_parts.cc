#include "kernels/array/shape/family_parts.h"
#include "kernels/cpu/families.h"

namespace weir {

absl::Status RegisterArrayKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(RegisterShapeKernels(kernels));
  RETURN_IF_ERROR(RegisterJoinKernels(kernels));
  RETURN_IF_ERROR(RegisterMoveKernels(kernels));
  RETURN_IF_ERROR(RegisterSliceKernels(kernels));
  RETURN_IF_ERROR(RegisterGatherKernels(kernels));
  RETURN_IF_ERROR(RegisterScatterKernels(kernels));
  RETURN_IF_ERROR(RegisterPartitionKernels(kernels));
  RETURN_IF_ERROR(RegisterDiagonalKernels(kernels));
  RETURN_IF_ERROR(RegisterUniqueKernels(kernels));
  return RegisterPrintKernels(kernels);
}

}  // namespace weir
