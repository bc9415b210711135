// Arguments of convolutions that host code and device code share. For host compilers and for nvcc.
#pragma once

#include "kernels/device/gpu/bodies.h"

namespace weir {

// As WindowDim (kernels/convolution/window.h).
struct WindowPlan {
  int64_t in, filter, out;
  int64_t stride, dilation, before;
};
// Images, NHWC or NCHW.
struct ConvolutionArgs {
  const void* input;
  const void* filter;  // [rows, columns, in_channels / groups, out_channels]
  const void* output;  // or its gradient
  void* result;        // a place for each of its elements
  int64_t batch, in_channels, out_channels, groups;
  bool channels_first;
  WindowPlan rows, columns;
  int64_t count;
};

}  // namespace weir
