// Arguments of the device bodies for images. For host compilers and for nvcc.
#pragma once

#include "kernels/device/gpu/bodies.h"
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

}  // namespace weir
