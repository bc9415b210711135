#include "kernels/recurrent/family.h"

namespace weir {

OpFamily RecurrentFamily() {
  return {
      .name = "recurrent",
      .ops = {RegisterRecurrentOps, RegisterCudnnRnnOps},
      .kernels = {RegisterCudnnRnnKernels, RegisterGatedRecurrentKernels, RegisterRecurrentKernels,
                  RegisterGpuRnnKernels, RegisterGpuGruKernels, RegisterGpuLstmKernels},
      .gradients = {RegisterRecurrentGradients},
  };
}

}  // namespace weir
