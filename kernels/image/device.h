// What the two halves of the kernels for images and volumes agree on. For host compilers and for nvcc.
#pragma once

#include "kernels/convolution/device.h"
#include "kernels/image/crop_side.h"
#include "kernels/image/resize_grid.h"

namespace weir {

// Images [batch, rows, columns, channels] resized, or gradients of that brought back.
struct ResizeArgs {
  const void* in;
  void* out;
  int64_t channels;
  ResizeGrid rows, columns;
  int64_t count;  // of what is made
};
// Crops [boxes, rows, columns, channels] of images [batch, rows, columns, channels], or gradients of that. Boxes are
// normalised corners y1, x1, y2, x2.
struct CropArgs {
  const void* images;
  const float* boxes;
  const int32_t* indices;  // of the image of each box
  const float* gradients;  // of the crops
  void* out;
  bool nearest;
  float outside;
  int64_t batch, rows, columns, channels;
  int64_t crop_rows, crop_columns;
  int64_t num_boxes;
  int64_t count;
};
// Local response normalisation of rows of `width` channels. Norms, in float, are bias + alpha * the sum of the squares
// at most `radius` away.
struct LrnArgs {
  const void* in;
  const void* out;       // of the forward op
  const void* gradient;  // of the output
  float* norms;
  void* result;
  int64_t width, radius;
  float bias, alpha, beta;
  int64_t count;
};
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
