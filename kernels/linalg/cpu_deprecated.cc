// Kernels of the deprecated Batch* ops: those of today's ops under their old names.
#include <algorithm>

#include "absl/strings/strip.h"

#include "kernels/linalg/family.h"

namespace weir {
namespace {

// Registers the CPU kernels of the op that `deprecated` names after "Batch" for `deprecated` too. A kernel with type
// constraints keeps the types in `allowed`.
absl::Status RegisterDeprecatedName(KernelRegistry& kernels, const std::string& deprecated,
                                    const DataTypeVector& allowed) {
  const std::string today(absl::StripPrefix(deprecated, "Batch"));
  bool found = false;
  for (const KernelRegistry::Registration* registration : kernels.ForOp(today)) {
    if (registration->kernel.device_type() != kDeviceCpu) continue;
    found = true;
    Kernel kernel(deprecated);
    kernel.Cpu();
    for (auto [attr, types] : registration->kernel.constraints()) {
      const auto is_other = [&](DataType type) {
        return std::find(allowed.begin(), allowed.end(), type) == allowed.end();
      };
      types.erase(std::remove_if(types.begin(), types.end(), is_other), types.end());
      kernel.Types(attr, types);
    }
    for (const std::string& arg : registration->kernel.host_args()) kernel.HostMemory(arg);
    RETURN_IF_ERROR(kernels.Register(kernel, registration->factory));
  }
  if (!found) return errors::Internal(deprecated, " needs the CPU kernels of ", today, ", which are not registered");
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterDeprecatedKernels(KernelRegistry& kernels) {
  for (const char* op :
       {"BatchMatrixBandPart", "BatchMatrixDiag", "BatchMatrixDiagPart", "BatchMatrixSetDiag", "BatchCholesky",
        "BatchCholeskyGrad", "BatchMatrixInverse", "BatchMatrixSolve", "BatchMatrixSolveLs",
        "BatchMatrixTriangularSolve", "BatchSelfAdjointEig", "BatchSelfAdjointEigV2"}) {
    RETURN_IF_ERROR(RegisterDeprecatedName(kernels, op, {DT_FLOAT, DT_DOUBLE}));
  }
  for (const char* op : {"BatchMatrixDeterminant", "BatchSvd"}) {
    RETURN_IF_ERROR(RegisterDeprecatedName(kernels, op, {DT_FLOAT, DT_DOUBLE, DT_COMPLEX64, DT_COMPLEX128}));
  }
  return absl::OkStatus();
}

}  // namespace weir
