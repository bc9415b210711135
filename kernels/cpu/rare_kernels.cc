#include "kernels/cpu/rare_families.h"

#include "kernels/coordination/cpu_unbatching.h"
#include "kernels/debug/inspection_families.h"

namespace weir {

absl::Status RegisterRareKernels(KernelRegistry& kernels) {
  for (auto* family : {
           &RegisterTridiagonalKernels,
           &RegisterSchurKernels,
           &RegisterEigKernels,
           &RegisterLuKernels,
           &RegisterQuantizeKernels,
           &RegisterCtcBeamKernels,
           &RegisterApproxTopKKernels,
           &RegisterRecordInputKernels,
           &RegisterProbeKernels,
           &RegisterDebugKernels,
           &RegisterBatchingKernels,
           &RegisterUnbatchingKernels,
           &RegisterQuantizedMatMulKernels,
           &RegisterQuantizedArrayKernels,
           &RegisterRequantizeKernels,
           &RegisterMapDefunKernels,
           &RegisterGatedRecurrentKernels,
           &RegisterTensorMapKernels,
           &RegisterImmutableConstKernels,
           &RegisterTensorHealthKernels,
           &RegisterCsrCholeskyKernels,
           &RegisterSobolKernels,
           &RegisterQuantizedElementKernels,
           &RegisterQuantizedResizeKernels,
           &RegisterStochasticCastKernels,
           &RegisterUniformQuantizedKernels,
           &RegisterUniformQuantizedDotKernels,
           &RegisterUniformQuantizedConvolutionKernels,
       }) {
    RETURN_IF_ERROR((*family)(kernels));
  }
  return absl::OkStatus();
}

}  // namespace weir
