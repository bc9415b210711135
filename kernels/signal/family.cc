#include "kernels/signal/family.h"

namespace weir {

OpFamily SignalFamily() {
  return {
      .name = "signal",
      .ops = {RegisterFourierOps, RegisterAudioOps},
      .kernels = {RegisterAudioKernels, RegisterFourierKernels, RegisterMfccKernels},
      .gradients = {RegisterFourierGradients},
  };
}

}  // namespace weir
