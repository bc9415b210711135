// Arguments of convolutions and pooling over volumes that host code and device code share. For host compilers and for
// nvcc.
#pragma once

#include "kernels/convolution/device.h"

namespace weir {

// A convolution or pooling over up to three dimensions: images [batch, d0, d1, d2, channels] or with the channels
// second.
struct VolumeArgs {
  const void* input;
  const void* filter;  // [d0, d1, d2, in_channels / groups, out_channels]
  const void* output;  // or its gradient
  const void* other;   // the gradient of a gradient
  void* result;
  void* places;  // of the largest
  bool batch_in_places;
  int64_t batch, in_channels, out_channels, groups;
  bool channels_first;
  WindowPlan dims[3];
  int64_t count;
};

}  // namespace weir
