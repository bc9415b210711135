#include "kernels/strings/register.h"

#include "kernels/strings/family_parts.h"

namespace weir {

absl::Status RegisterTextKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(RegisterStringFormatKernels(kernels));
  RETURN_IF_ERROR(RegisterSplitKernels(kernels));
  RETURN_IF_ERROR(RegisterNGramsKernels(kernels));
  RETURN_IF_ERROR(RegisterSubstrKernels(kernels));
  RETURN_IF_ERROR(RegisterStringHashKernels(kernels));
  RETURN_IF_ERROR(RegisterJoinStringsKernels(kernels));
  RETURN_IF_ERROR(RegisterRegexReplaceKernels(kernels));
  return RegisterUnicodeKernels(kernels);
}

}  // namespace weir
