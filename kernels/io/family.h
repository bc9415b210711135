// Checkpoints, readers and whole files.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily IoFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterIoOps(OpRegistry& ops);
absl::Status RegisterStoreOps(OpRegistry& ops);
absl::Status RegisterReaderOps(OpRegistry& ops);
absl::Status RegisterSliceTableOps(OpRegistry& ops);
absl::Status RegisterRemappingOps(OpRegistry& ops);
absl::Status RegisterRecordInputOps(OpRegistry& ops);
absl::Status RegisterIoNotDifferentiable(OpRegistry& ops);

absl::Status RegisterIoKernels(KernelRegistry& kernels);
absl::Status RegisterStoreKernels(KernelRegistry& kernels);
absl::Status RegisterReaderKernels(KernelRegistry& kernels);
absl::Status RegisterRecordInputKernels(KernelRegistry& kernels);
absl::Status RegisterSliceTableKernels(KernelRegistry& kernels);
absl::Status RegisterRemappingKernels(KernelRegistry& kernels);

}  // namespace weir
