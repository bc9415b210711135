#include "kernels/io/family.h"

namespace weir {

OpFamily IoFamily() {
  return {
      .name = "io",
      .ops = {RegisterIoOps, RegisterReaderOps, RegisterSliceTableOps},
      .kernels = {RegisterIoKernels, RegisterReaderKernels, RegisterRecordInputKernels, RegisterSliceTableKernels},
      .gradients = {RegisterIoNotDifferentiable},
  };
}

}  // namespace weir
