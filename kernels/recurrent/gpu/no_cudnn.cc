// Replaces cudnn_*.cc in a build without CUDA or without cuDNN's headers.
#include "core/status.h"
#include "kernels/recurrent/gpu/rnn_library.h"

namespace weir {

absl::StatusOr<std::shared_ptr<RnnLibrary>> CudaRnns(GpuRuntime& gpu, const GpuMathSettings&) {
  return errors::Unavailable("this build has no cuDNN for ", gpu.properties().name);
}

}  // namespace weir
