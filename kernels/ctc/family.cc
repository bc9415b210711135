#include "kernels/ctc/family.h"

namespace weir {

OpFamily CtcFamily() {
  return {
      .name = "ctc",
      .kernels = {RegisterCtcKernels, RegisterCtcBeamKernels},
  };
}

}  // namespace weir
