// Replaces cudnn_*.cc in a build without CUDA or without cuDNN's headers.
#include "core/status.h"
#include "kernels/normalization/gpu/norm_library.h"

namespace weir {

absl::StatusOr<std::shared_ptr<NormLibrary>> CudaNorms(GpuRuntime& gpu, const GpuMathSettings&) {
  return errors::Unavailable("this build has no cuDNN for ", gpu.properties().name);
}

}  // namespace weir
