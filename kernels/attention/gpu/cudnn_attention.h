// Attention by cuDNN.
#pragma once

#include <memory>
#include <string>

#include "kernels/attention/gpu/attention_library.h"
#include "kernels/device/cudnn/cudnn_target.h"

namespace weir {

// Where the target is only described plans can be made, and to enqueue one is FAILED_PRECONDITION.
std::shared_ptr<AttentionLibrary> NewCudnnAttention(std::shared_ptr<const CudnnTarget> target, std::string identity,
                                                    const GpuMathSettings& settings);

}  // namespace weir
