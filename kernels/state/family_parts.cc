#include "kernels/state/family_parts.h"

#include "kernels/cpu/families.h"

namespace weir {

absl::Status RegisterStateKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(RegisterResourceVariableKernels(kernels));
  RETURN_IF_ERROR(RegisterRefVariableKernels(kernels));
  RETURN_IF_ERROR(RegisterAssignUpdateKernels(kernels));
  RETURN_IF_ERROR(RegisterScatterUpdateKernels(kernels));
  RETURN_IF_ERROR(RegisterScatterNdUpdateKernels(kernels));
  return RegisterResourceGatherKernels(kernels);
}

}  // namespace weir
