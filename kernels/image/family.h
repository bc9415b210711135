// Images: resized, cropped, recoloured, projected, and their boxes.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily ImageFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterImageFileOps(OpRegistry& ops);
absl::Status RegisterImageOps(OpRegistry& ops);
absl::Status RegisterImageRegionOps(OpRegistry& ops);
absl::Status RegisterImageBoxOps(OpRegistry& ops);

absl::Status RegisterImageGradients(OpRegistry& ops);
absl::Status RegisterColorGradients(OpRegistry& ops);
absl::Status RegisterPatchGradients(OpRegistry& ops);
absl::Status RegisterScaleGradients(OpRegistry& ops);
absl::Status RegisterImageNotDifferentiable(OpRegistry& ops);

absl::Status RegisterImageDecodeKernels(KernelRegistry& kernels);
absl::Status RegisterImageEncodeKernels(KernelRegistry& kernels);
absl::Status RegisterBoundingBoxKernels(KernelRegistry& kernels);
absl::Status RegisterImageColorKernels(KernelRegistry& kernels);
absl::Status RegisterSuppressionKernels(KernelRegistry& kernels);
absl::Status RegisterImageCropKernels(KernelRegistry& kernels);
absl::Status RegisterDistortedBoxKernels(KernelRegistry& kernels);
absl::Status RegisterGlimpseKernels(KernelRegistry& kernels);
absl::Status RegisterPatchKernels(KernelRegistry& kernels);
absl::Status RegisterProjectionKernels(KernelRegistry& kernels);
absl::Status RegisterImageResizeKernels(KernelRegistry& kernels);
absl::Status RegisterScaleKernels(KernelRegistry& kernels);
absl::Status RegisterImageBoxKernels(KernelRegistry& kernels);
absl::Status RegisterGpuCropKernels(KernelRegistry& kernels);
absl::Status RegisterGpuResizeKernels(KernelRegistry& kernels);

}  // namespace weir
