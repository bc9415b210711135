#include "kernels/pooling/family.h"

namespace weir {

OpFamily PoolingFamily() {
  return {
      .name = "pooling",
      .ops = {RegisterFractionalPoolingOps, RegisterPoolingOps, RegisterVolumePoolingOps, RegisterDilationOps},
      .kernels = {RegisterDilationKernels, RegisterFractionalPoolingKernels, RegisterPoolingKernels,
                  RegisterVolumePoolingKernels, RegisterGpuPoolKernels, RegisterGpuVolumePoolingKernels},
      .gradients = {RegisterPoolingGradients},
  };
}

}  // namespace weir
