#include "kernels/control/family.h"

namespace weir {

OpFamily ControlFamily() {
  return {
      .name = "control",
      .ops = {RegisterControlOps, RegisterMapDefunOps, RegisterWireOps, RegisterCommitOps},
      .kernels = {RegisterCallKernels, RegisterControlFlowKernels, RegisterFunctionLoopKernels, RegisterMapDefunKernels,
                  RegisterRefSelectKernels, RegisterTransferKernels, RegisterSessionTensorKernels, RegisterWireKernels,
                  RegisterCommitKernels, RegisterGpuCopyKernels},
      .gradients = {RegisterCallGradients, RegisterControlNotDifferentiable},
  };
}

}  // namespace weir
