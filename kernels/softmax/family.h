// The softmax family: see README.md beside this file.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily SoftmaxFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterSoftmaxKernels(KernelRegistry& kernels);

}  // namespace weir
