#include "kernels/pooling/family.h"

namespace weir {

OpFamily PoolingFamily() {
  return {
      .name = "pooling",
      .ops = {RegisterFractionalPoolingOps},
      .kernels = {RegisterDilationKernels, RegisterFractionalPoolingKernels, RegisterPoolingKernels,
                  RegisterVolumePoolingKernels, RegisterGpuPoolKernels},
  };
}

}  // namespace weir
