// Queues, barriers, accumulators, staging areas, mutexes and batching.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily CoordinationFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterAccumulatorOps(OpRegistry& ops);
absl::Status RegisterBarrierOps(OpRegistry& ops);
absl::Status RegisterBatchingOps(OpRegistry& ops);
absl::Status RegisterQueueOps(OpRegistry& ops);
absl::Status RegisterStagingOps(OpRegistry& ops);
absl::Status RegisterCoordinationNotDifferentiable(OpRegistry& ops);

absl::Status RegisterAccumulatorKernels(KernelRegistry& kernels);
absl::Status RegisterBarrierKernels(KernelRegistry& kernels);
absl::Status RegisterBatchingKernels(KernelRegistry& kernels);
absl::Status RegisterMutexKernels(KernelRegistry& kernels);
absl::Status RegisterQueueKernels(KernelRegistry& kernels);
absl::Status RegisterQueueMakers(KernelRegistry& kernels);
absl::Status RegisterStagingKernels(KernelRegistry& kernels);
absl::Status RegisterUnbatchingKernels(KernelRegistry& kernels);

}  // namespace weir
