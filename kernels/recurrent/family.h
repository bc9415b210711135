// LSTM and GRU cells and whole recurrent networks, with their gradients.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily RecurrentFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterRecurrentOps(OpRegistry& ops);
absl::Status RegisterCudnnRnnOps(OpRegistry& ops);

absl::Status RegisterRecurrentGradients(OpRegistry& ops);

absl::Status RegisterCudnnRnnKernels(KernelRegistry& kernels);
absl::Status RegisterGatedRecurrentKernels(KernelRegistry& kernels);
absl::Status RegisterRecurrentKernels(KernelRegistry& kernels);
absl::Status RegisterGpuRnnKernels(KernelRegistry& kernels);
absl::Status RegisterGpuGruKernels(KernelRegistry& kernels);
absl::Status RegisterGpuLstmKernels(KernelRegistry& kernels);

}  // namespace weir
