#include "kernels/io/family.h"

namespace weir {

OpFamily IoFamily() {
  return {
      .name = "io",
      .ops = {RegisterIoOps, RegisterReaderOps, RegisterSliceTableOps, RegisterRemappingOps, RegisterRecordInputOps},
      .kernels = {RegisterIoKernels, RegisterReaderKernels, RegisterRecordInputKernels, RegisterSliceTableKernels,
                  RegisterRemappingKernels},
      .gradients = {RegisterIoNotDifferentiable},
  };
}

}  // namespace weir
