// Kernels under the names that their ops once had.
#include <algorithm>

#include "absl/strings/strip.h"

#include "kernels/linalg/family.h"

namespace weir {
namespace {

// The CPU kernels of `former`, less its "Batch", under that name; of types in `allowed` where their types matter.
absl::Status RegisterFormerName(KernelRegistry& kernels, const std::string& former, const DataTypeVector& allowed) {
  for (const KernelRegistry::Registration* registration : kernels.ForOp(absl::StripPrefix(former, "Batch"))) {
    if (registration->kernel.device_type() != kDeviceCpu) continue;
    Kernel kernel(former);
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
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterFormerNames(KernelRegistry& kernels) {
  for (const char* op :
       {"BatchMatrixBandPart", "BatchMatrixDiag", "BatchMatrixDiagPart", "BatchMatrixSetDiag", "BatchCholesky",
        "BatchCholeskyGrad", "BatchMatrixInverse", "BatchMatrixSolve", "BatchMatrixSolveLs",
        "BatchMatrixTriangularSolve", "BatchSelfAdjointEig", "BatchSelfAdjointEigV2"}) {
    RETURN_IF_ERROR(RegisterFormerName(kernels, op, {DT_FLOAT, DT_DOUBLE}));
  }
  for (const char* op : {"BatchMatrixDeterminant", "BatchSvd"}) {
    RETURN_IF_ERROR(RegisterFormerName(kernels, op, {DT_FLOAT, DT_DOUBLE, DT_COMPLEX64, DT_COMPLEX128}));
  }
  return absl::OkStatus();
}

}  // namespace weir
