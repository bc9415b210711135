// Replaces cudnn_*.cc in a build without CUDA or without cuDNN's headers.
#include "kernels/convolution/gpu/library_convolution.h"

namespace weir {

absl::StatusOr<std::shared_ptr<ConvolutionLibrary>> CudaConvolutions(GpuRuntime& gpu, const GpuMathSettings&) {
  return errors::Unavailable("this build has no cuDNN for ", gpu.properties().name);
}

}  // namespace weir
