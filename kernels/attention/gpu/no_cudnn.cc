// Replaces cudnn_*.cc in a build without CUDA or without cuDNN's headers.
#include "core/status.h"
#include "kernels/attention/gpu/attention_library.h"

namespace weir {

absl::StatusOr<std::shared_ptr<AttentionLibrary>> CudaAttention(GpuRuntime& gpu, const GpuMathSettings&) {
  return errors::Unavailable("this build has no cuDNN for ", gpu.properties().name);
}

}  // namespace weir
