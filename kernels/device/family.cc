#include "kernels/device/family.h"

namespace weir {

OpFamily DeviceFamily() {
  return {
      .name = "device",
      .kernels = {RegisterGpuHostKernels},
  };
}

}  // namespace weir
