#include "kernels/sparse/family_parts.h"
#include "kernels/sparse/register.h"

namespace weir {

absl::Status RegisterSparseKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(RegisterSparseReshapeKernels(kernels));
  RETURN_IF_ERROR(RegisterSparseRearrangeKernels(kernels));
  RETURN_IF_ERROR(RegisterSparseToDenseKernels(kernels));
  RETURN_IF_ERROR(RegisterFillEmptyRowsKernels(kernels));
  RETURN_IF_ERROR(RegisterSerializeSparseKernels(kernels));
  RETURN_IF_ERROR(RegisterSparseTensorsMapKernels(kernels));
  RETURN_IF_ERROR(RegisterSparseAddKernels(kernels));
  RETURN_IF_ERROR(RegisterSparseMatMulKernels(kernels));
  RETURN_IF_ERROR(RegisterSparseElementwiseKernels(kernels));
  RETURN_IF_ERROR(RegisterSparseReduceKernels(kernels));
  RETURN_IF_ERROR(RegisterCountKernels(kernels));
  RETURN_IF_ERROR(RegisterSparseCrossKernels(kernels));
  return RegisterSetKernels(kernels);
}

}  // namespace weir
