// Connectionist temporal classification: its loss, with the gradient, and its decoders.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily CtcFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterCtcOps(OpRegistry& ops);

absl::Status RegisterCtcNotDifferentiable(OpRegistry& ops);
absl::Status RegisterCtcGradients(OpRegistry& ops);

absl::Status RegisterCtcKernels(KernelRegistry& kernels);
absl::Status RegisterCtcBeamKernels(KernelRegistry& kernels);

}  // namespace weir
