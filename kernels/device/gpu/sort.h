// Sorting of pairs on a GPU.
#pragma once

#include "core/gpu/gpu_op_kernel.h"
#include "kernels/device/gpu/sort_args.h"

namespace weir {

// The most pairs that are sorted at once.
inline constexpr int64_t kMostSorted = int64_t{INT32_MAX};

// Enqueues what `args` say, but for its workspace, of which `workspace` holds what SortWorkspace gave. `accesses` is
// what its pointers point to.
absl::Status EnqueueSort(GpuStream& stream, SortArgs args, const Tensor& workspace,
                         absl::Span<const GpuAccess> accesses);
// For sorts of `count` pairs on that stream, one after the other.
absl::StatusOr<Tensor> SortWorkspace(OpKernelContext& ctx, GpuStream& stream, int64_t count);

}  // namespace weir
