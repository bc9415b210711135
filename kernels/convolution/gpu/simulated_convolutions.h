// A convolution library for simulated GPUs.
#pragma once

#include <memory>

#include "kernels/convolution/gpu/convolution_library.h"

namespace weir {

// Loops on the host; all its recipes give the same bits. Like other libraries it has gaps: grouped convolutions only in
// NCHW, and no double. Recipe 0 wants no workspace; recipe 1 wants some, uses all of it, and
// counts as one that is not deterministic.
std::shared_ptr<ConvolutionLibrary> NewSimulatedConvolutions(const GpuProperties& properties,
                                                             const GpuMathSettings& settings);

}  // namespace weir
