// The arguments of ops that resize images, on whatever device: checked in TensorFlow's words.
#pragma once

#include <utility>

#include "core/kernel/op_kernel.h"

namespace weir {

struct ResizeAttrs {
  absl::Status Read(OpKernelConstruction& ctx);
  bool corners = false, centers = false;
};

// Two positive numbers: rows and columns.
absl::StatusOr<std::pair<int64_t, int64_t>> ReadImageSize(const Tensor& size);
// InvalidArgument unless it is the shape of images that have pixels and channels.
absl::Status CheckResized(const TensorShape& image);
// The shape of the images of which `gradient` is that of the resized ones: of a size, in host memory, or as `original`.
absl::StatusOr<TensorShape> OriginalOfSize(const TensorShape& gradient, const Tensor& size);
absl::StatusOr<TensorShape> OriginalOf(const TensorShape& gradient, const Tensor& original);

}  // namespace weir
