// Convolutions by cuDNN.
#pragma once

#include <memory>
#include <string>

#include "kernels/convolution/gpu/convolution_library.h"
#include "kernels/device/cudnn/cudnn_target.h"

namespace weir {

// `identity` names device and versions. Where the target is only described plans can be made, and to enqueue one is
// FAILED_PRECONDITION.
std::shared_ptr<ConvolutionLibrary> NewCudnnConvolutions(std::shared_ptr<const CudnnTarget> target,
                                                         const GpuProperties& properties, std::string identity,
                                                         const GpuMathSettings& settings);

}  // namespace weir
