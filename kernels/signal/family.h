// Fourier transforms and audio.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily SignalFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterFourierOps(OpRegistry& ops);
absl::Status RegisterAudioOps(OpRegistry& ops);

absl::Status RegisterAudioKernels(KernelRegistry& kernels);
absl::Status RegisterFourierKernels(KernelRegistry& kernels);
absl::Status RegisterMfccKernels(KernelRegistry& kernels);

absl::Status RegisterFourierGradients(OpRegistry& ops);

}  // namespace weir
