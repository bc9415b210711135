// An op family: what one folder of kernels/ adds to the registries.
#pragma once

#include <vector>

#include "core/api.h"
#include "core/kernel/kernel_registry.h"
#include "core/op/op_registry.h"
#include "core/status.h"
#include "core/tensor/variant_registry.h"

namespace WEIR_API weir {

// Each part registers some of the family's ops, kernels, gradients or variants; nothing registers itself.
struct OpFamily {
  const char* name;
  std::vector<absl::Status (*)(OpRegistry&)> ops;
  std::vector<absl::Status (*)(KernelRegistry&)> kernels;
  // Register CPU kernels under another op or device. They run once the kernels of all families are registered.
  std::vector<absl::Status (*)(KernelRegistry&)> copied_kernels;
  std::vector<absl::Status (*)(OpRegistry&)> gradients;
  std::vector<absl::Status (*)(VariantRegistry&)> variants;
};

}  // namespace weir
