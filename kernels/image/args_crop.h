// The arguments of CropAndResize and its gradients, on whatever device: checked in TensorFlow's words.
#pragma once

#include "core/kernel/op_kernel.h"

namespace weir {

struct CropAttrs {
  absl::Status Read(OpKernelConstruction& ctx);
  bool nearest = false;
  float outside = 0;  // what elements beyond the image are
};

// What crops of boxes have to do with images, but for the values of boxes and indices.
struct CropSizes {
  // Of CropAndResize: inputs image, boxes, box_ind and crop_size.
  static absl::StatusOr<CropSizes> Of(OpKernelContext& ctx);
  // Of CropAndResizeGradImage: gradients, boxes, box_ind and image_size.
  static absl::StatusOr<CropSizes> OfImageGradient(OpKernelContext& ctx);
  // Of CropAndResizeGradBoxes: gradients, image, boxes and box_ind.
  static absl::StatusOr<CropSizes> OfBoxesGradient(OpKernelContext& ctx);

  TensorShape image;  // [batch, rows, columns, channels]
  TensorShape crops;  // [boxes, rows, columns, channels]
};

// That of an index that names no image.
absl::Status BoxIndexOutOfRange();

}  // namespace weir
