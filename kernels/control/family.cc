#include "kernels/control/family.h"

namespace weir {

OpFamily ControlFamily() {
  return {
      .name = "control",
      .ops = {RegisterCoreOps, RegisterWireOps, RegisterMapDefunOps},
      .kernels = {RegisterCallKernels, RegisterControlFlowKernels, RegisterFunctionLoopKernels, RegisterMapDefunKernels,
                  RegisterTransferKernels, RegisterSessionTensorKernels, RegisterWireKernels, RegisterGpuCopyKernels},
      .gradients = {RegisterControlNotDifferentiable, RegisterCallGradients},
  };
}

}  // namespace weir
