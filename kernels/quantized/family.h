// Numbers of few bits: quantised, computed with, and brought back.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily QuantizedFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterQuantizationOps(OpRegistry& ops);
absl::Status RegisterQuantizedElementOps(OpRegistry& ops);
absl::Status RegisterQuantizedOps(OpRegistry& ops);
absl::Status RegisterUniformQuantizedOps(OpRegistry& ops);
absl::Status RegisterQuantizedResizeOps(OpRegistry& ops);
absl::Status RegisterQuantizedNotDifferentiable(OpRegistry& ops);
absl::Status RegisterQuantizeDequantizeGradients(OpRegistry& ops);
absl::Status RegisterFakeQuantGradients(OpRegistry& ops);

absl::Status RegisterQuantizedArrayKernels(KernelRegistry& kernels);
absl::Status RegisterQuantizedElementKernels(KernelRegistry& kernels);
absl::Status RegisterFakeQuantKernels(KernelRegistry& kernels);
absl::Status RegisterQuantizedMatMulKernels(KernelRegistry& kernels);
absl::Status RegisterQuantizeKernels(KernelRegistry& kernels);
absl::Status RegisterQuantizationKernels(KernelRegistry& kernels);
absl::Status RegisterRequantizeKernels(KernelRegistry& kernels);
absl::Status RegisterQuantizedResizeKernels(KernelRegistry& kernels);
absl::Status RegisterGpuQuantKernels(KernelRegistry& kernels);
absl::Status RegisterGpuQuantizeKernels(KernelRegistry& kernels);
absl::Status RegisterUniformQuantizedConvolutionKernels(KernelRegistry& kernels);
absl::Status RegisterUniformQuantizedDotKernels(KernelRegistry& kernels);
absl::Status RegisterUniformQuantizedKernels(KernelRegistry& kernels);

}  // namespace weir
