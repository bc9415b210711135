// Recurrent networks by cuDNN.
#pragma once

#include <memory>
#include <string>

#include "kernels/device/cudnn/cudnn_target.h"
#include "kernels/recurrent/gpu/cudnn_rnn_functions.h"
#include "kernels/recurrent/gpu/rnn_library.h"

namespace weir {

// For a device at hand; of one that is only described the library tells nothing but that descriptors are as they should
// be. The functions outlive it.
std::shared_ptr<RnnLibrary> NewCudnnRnns(std::shared_ptr<const CudnnTarget> target, std::string identity,
                                         const CudnnRnnFunctions& rnn, const GpuMathSettings& settings);

}  // namespace weir
