#include "kernels/parsing/register.h"

#include "kernels/parsing/family_parts.h"
#include "kernels/parsing/proto_families.h"

namespace weir {

absl::Status RegisterParsingKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(RegisterExampleKernels(kernels));
  RETURN_IF_ERROR(RegisterSequenceExampleKernels(kernels));
  RETURN_IF_ERROR(RegisterDecodeBytesKernels(kernels));
  RETURN_IF_ERROR(RegisterDecodeCsvKernels(kernels));
  RETURN_IF_ERROR(RegisterDecodeJsonKernels(kernels));
  RETURN_IF_ERROR(RegisterEditDistanceKernels(kernels));
  RETURN_IF_ERROR(RegisterRemappingKernels(kernels));
  RETURN_IF_ERROR(RegisterDecodeProtoKernels(kernels));
  return RegisterEncodeProtoKernels(kernels);
}

}  // namespace weir
