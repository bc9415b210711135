// Strings: joined, split, converted, matched and hashed.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily StringsFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterStringOps(OpRegistry& ops);
absl::Status RegisterRegexOps(OpRegistry& ops);
absl::Status RegisterStringPartOps(OpRegistry& ops);
absl::Status RegisterUnicodeOps(OpRegistry& ops);
absl::Status RegisterIntegerHashOps(OpRegistry& ops);
absl::Status RegisterStringsNotDifferentiable(OpRegistry& ops);

absl::Status RegisterStringFormatKernels(KernelRegistry& kernels);
absl::Status RegisterStringHashKernels(KernelRegistry& kernels);
absl::Status RegisterNGramsKernels(KernelRegistry& kernels);
absl::Status RegisterJoinStringsKernels(KernelRegistry& kernels);
absl::Status RegisterRegexMatchKernels(KernelRegistry& kernels);
absl::Status RegisterRegexReplaceKernels(KernelRegistry& kernels);
absl::Status RegisterSplitKernels(KernelRegistry& kernels);
absl::Status RegisterStringKernels(KernelRegistry& kernels);
absl::Status RegisterSubstrKernels(KernelRegistry& kernels);
absl::Status RegisterUnicodeKernels(KernelRegistry& kernels);

}  // namespace weir
