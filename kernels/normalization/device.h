// Arguments of batch normalisation that host code and device code share. For host compilers and for nvcc.
#pragma once

#include "kernels/device/gpu/bodies.h"

namespace weir {

// Images as [outer, channels, inner]; `per_channel` is outer times inner. All vectors are floats, one for each channel.
struct NormArgs {
  const void* x;
  const void* dy;
  const void* side;  // an image that is added to y, or null
  const void* y;     // whose sign tells what a gradient passes
  void* result;      // y, or dx
  const float* scale;
  const float* offset;
  float* mean;
  float* variance;  // of the population
  // Running averages, and what they were; those are null where they do not count.
  const float* old_mean;
  const float* old_variance;
  float* new_mean;
  float* new_variance;
  float* dscale;
  float* doffset;
  const float* sample_variance;
  float* inverse_deviation;
  float epsilon, average_factor;
  bool is_training;
  bool relu;  // what is negative becomes zero
  int64_t channels, inner, per_channel;
  int64_t count;
};

}  // namespace weir
