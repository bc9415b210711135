// Batch normalisation by cuDNN.
#pragma once

#include <memory>
#include <string>

#include "kernels/device/cudnn/cudnn_target.h"
#include "kernels/normalization/gpu/norm_library.h"

namespace weir {

// Where the target is only described plans can be made, and to enqueue one is FAILED_PRECONDITION.
std::shared_ptr<NormLibrary> NewCudnnNorms(std::shared_ptr<const CudnnTarget> target, std::string identity,
                                           const GpuMathSettings& settings);

}  // namespace weir
