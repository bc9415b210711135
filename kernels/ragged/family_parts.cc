#include "kernels/ragged/family_parts.h"
#include "kernels/ragged/register.h"

namespace weir {

absl::Status RegisterRaggedKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(RegisterRaggedRangeKernels(kernels));
  RETURN_IF_ERROR(RegisterRaggedConversionKernels(kernels));
  RETURN_IF_ERROR(RegisterRaggedToTensorKernels(kernels));
  RETURN_IF_ERROR(RegisterRaggedGatherKernels(kernels));
  RETURN_IF_ERROR(RegisterRaggedVariantKernels(kernels));
  return RegisterRaggedCrossKernels(kernels);
}

}  // namespace weir
