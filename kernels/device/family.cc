#include "kernels/device/family.h"

namespace weir {

OpFamily DeviceFamily() {
  return {
      .name = "device",
      .copied_kernels = {RegisterGpuHostKernels},
  };
}

}  // namespace weir
