#include "kernels/io/family.h"

namespace weir {

OpFamily IoFamily() {
  return {
      .name = "io",
      .ops = {RegisterIoOps, RegisterStoreOps, RegisterReaderOps, RegisterSliceTableOps, RegisterRemappingOps,
              RegisterRecordInputOps},
      .kernels = {RegisterIoKernels, RegisterStoreKernels, RegisterReaderKernels, RegisterRecordInputKernels,
                  RegisterSliceTableKernels, RegisterRemappingKernels},
      .gradients = {RegisterIoNotDifferentiable},
  };
}

}  // namespace weir
