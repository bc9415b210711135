// Families of CPU kernels for ops that few programs use.
#pragma once

#include "core/kernel_registry.h"
#include "core/status.h"

namespace weir {

// All of them.
absl::Status RegisterRareKernels(KernelRegistry& kernels);

absl::Status RegisterTridiagonalKernels(KernelRegistry& kernels);
absl::Status RegisterSchurKernels(KernelRegistry& kernels);
absl::Status RegisterEigKernels(KernelRegistry& kernels);
absl::Status RegisterLuKernels(KernelRegistry& kernels);
absl::Status RegisterQuantizeKernels(KernelRegistry& kernels);
absl::Status RegisterCtcBeamKernels(KernelRegistry& kernels);
absl::Status RegisterApproxTopKKernels(KernelRegistry& kernels);
absl::Status RegisterRecordInputKernels(KernelRegistry& kernels);
absl::Status RegisterProbeKernels(KernelRegistry& kernels);
absl::Status RegisterDebugKernels(KernelRegistry& kernels);
absl::Status RegisterBatchingKernels(KernelRegistry& kernels);
absl::Status RegisterQuantizedMatMulKernels(KernelRegistry& kernels);
absl::Status RegisterQuantizedArrayKernels(KernelRegistry& kernels);
absl::Status RegisterQuantizedElementKernels(KernelRegistry& kernels);
absl::Status RegisterQuantizedResizeKernels(KernelRegistry& kernels);
absl::Status RegisterRequantizeKernels(KernelRegistry& kernels);
absl::Status RegisterStochasticCastKernels(KernelRegistry& kernels);
absl::Status RegisterUniformQuantizedKernels(KernelRegistry& kernels);
absl::Status RegisterUniformQuantizedDotKernels(KernelRegistry& kernels);
absl::Status RegisterUniformQuantizedConvolutionKernels(KernelRegistry& kernels);
absl::Status RegisterMapDefunKernels(KernelRegistry& kernels);
absl::Status RegisterGatedRecurrentKernels(KernelRegistry& kernels);
absl::Status RegisterSobolKernels(KernelRegistry& kernels);
absl::Status RegisterTensorMapKernels(KernelRegistry& kernels);

}  // namespace weir
