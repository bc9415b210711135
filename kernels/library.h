// Every op and kernel of this build, by explicit registration.
#pragma once

#include "core/kernel_registry.h"
#include "core/op_registry.h"
#include "core/status.h"
#include "core/variant_registry.h"

namespace weir {

absl::Status RegisterAllOps(OpRegistry& ops);
absl::Status RegisterAllKernels(KernelRegistry& kernels);
// What variants that came from elsewhere are decoded with.
absl::Status RegisterAllVariants(VariantRegistry& variants);

}  // namespace weir
