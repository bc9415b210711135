// Summaries for TensorBoard, and the writer of event files.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily SummaryFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterSummaryOps(OpRegistry& ops);
absl::Status RegisterSummaryNotDifferentiable(OpRegistry& ops);

absl::Status RegisterMediaSummaryKernels(KernelRegistry& kernels);
absl::Status RegisterSummaryKernels(KernelRegistry& kernels);
absl::Status RegisterSummaryWriterKernels(KernelRegistry& kernels);

}  // namespace weir
