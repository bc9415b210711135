// The device family: see README.md beside this file.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily DeviceFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterGpuHostKernels(KernelRegistry& kernels);

}  // namespace weir
