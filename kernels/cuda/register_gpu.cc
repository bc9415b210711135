#include "kernels/cuda/families.h"

namespace weir {

absl::Status RegisterGpuKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(RegisterGpuCopyKernels(kernels));
  RETURN_IF_ERROR(RegisterGpuElementwiseKernels(kernels));
  RETURN_IF_ERROR(RegisterGpuFillKernels(kernels));
  RETURN_IF_ERROR(RegisterGpuMoveKernels(kernels));
  RETURN_IF_ERROR(RegisterGpuFoldKernels(kernels));
  RETURN_IF_ERROR(RegisterGpuMatMulKernels(kernels));
  RETURN_IF_ERROR(RegisterGpuNnKernels(kernels));
  RETURN_IF_ERROR(RegisterGpuVariableKernels(kernels));
  RETURN_IF_ERROR(RegisterGpuApplyKernels(kernels));
  return RegisterGpuHostKernels(kernels);
}

}  // namespace weir
