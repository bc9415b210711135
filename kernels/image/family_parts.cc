#include "kernels/image/register.h"

#include "kernels/image/family_parts.h"

namespace weir {

absl::Status RegisterImageKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(RegisterImageDecodeKernels(kernels));
  RETURN_IF_ERROR(RegisterImageEncodeKernels(kernels));
  RETURN_IF_ERROR(RegisterPatchKernels(kernels));
  RETURN_IF_ERROR(RegisterGlimpseKernels(kernels));
  RETURN_IF_ERROR(RegisterScaleKernels(kernels));
  RETURN_IF_ERROR(RegisterProjectionKernels(kernels));
  RETURN_IF_ERROR(RegisterBoundingBoxKernels(kernels));
  RETURN_IF_ERROR(RegisterDistortedBoxKernels(kernels));
  return RegisterSuppressionKernels(kernels);
}

}  // namespace weir
