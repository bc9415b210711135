#include "core/cuda/cuda_status.h"

#include "absl/strings/match.h"

namespace weir {

absl::Status CudaStatus(cudaError_t error, absl::string_view what) {
  if (error == cudaSuccess) return absl::OkStatus();
  cudaGetLastError();  // clears a non-sticky error so that it does not show in a later call
  absl::Status status = GpuStatus(static_cast<GpuError>(error), what);
  if (!absl::StartsWith(status.message(), "CUDA error ")) return status;
  return Annotate(std::move(status), absl::StrCat(cudaGetErrorName(error), " (", cudaGetErrorString(error), ")"));
}

}  // namespace weir
