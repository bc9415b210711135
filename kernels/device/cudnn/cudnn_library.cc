#include "kernels/device/cudnn/cudnn_library.h"

#include <cuda_runtime_api.h>

#include "absl/strings/str_cat.h"
#include "core/cuda/cuda_runtime.h"
#include "core/cuda/cuda_status.h"

namespace weir {

absl::StatusOr<CudnnOfDevice> OpenCudnn(GpuRuntime& gpu) {
  const GpuProperties& properties = gpu.properties();
  const std::optional<int> ordinal = CudaOrdinalOf(gpu);
  if (!ordinal.has_value()) return errors::Unavailable(properties.name, " is not one of CUDA's");
  ASSIGN_OR_RETURN(const CudnnFunctions* const cudnn, LoadCudnn());
  CudnnOfDevice opened;
  ASSIGN_OR_RETURN(opened.target, CudnnTarget::Open(*cudnn, *ordinal));
  int driver = 0;
  RETURN_IF_CUDA_ERROR(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  opened.identity = absl::StrCat(properties.name, ", sm_", properties.compute_major, properties.compute_minor,
                                 ", driver ", driver, ", cuDNN ", cudnn->version);
  return opened;
}

}  // namespace weir
