#include "kernels/cpu/rare_families.h"

namespace weir {

absl::Status RegisterRareKernels(KernelRegistry& kernels) {
  for (auto* family : {
           &RegisterTridiagonalKernels,
           &RegisterSchurKernels,
           &RegisterLuKernels,
           &RegisterQuantizeKernels,
           &RegisterCtcBeamKernels,
           &RegisterApproxTopKKernels,
           &RegisterRecordInputKernels,
           &RegisterProbeKernels,
           &RegisterDebugKernels,
       }) {
    RETURN_IF_ERROR((*family)(kernels));
  }
  return absl::OkStatus();
}

}  // namespace weir
