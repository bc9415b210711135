// Windows over rows and columns, for convolutions and pooling.
#pragma once

#include <string>

#include "core/kernel/op_kernel.h"
#include "core/tensor/tensor_shape.h"

namespace weir {

// One spatial dimension. Output element i reads inputs i * stride - before + j * dilation for j < filter.
struct WindowDim {
  int64_t in = 0, filter = 0, out = 0;
  int64_t stride = 1, dilation = 1;
  int64_t before = 0, after = 0;  // padding
};

// InvalidArgument unless a convolution's gradient has `actual` elements along that dimension; `label` names the caller.
absl::Status CheckGradientDim(absl::string_view label, int dimension, const WindowDim& dim, int64_t actual);

// Attributes strides, padding, data_format and, where the op has them, ksize, dilations and explicit_paddings. Only
// pooling may have a stride over depth.
struct WindowAttrs {
  static absl::StatusOr<WindowAttrs> Read(OpKernelConstruction& ctx);

  int RowAxis() const { return channels_first ? 2 : 1; }
  int ChannelAxis() const { return channels_first ? 1 : 3; }
  // With ksize and strides from inputs `first` and the next, in host memory, where the op has them there (MaxPoolV2).
  absl::StatusOr<WindowAttrs> WithInputs(OpKernelContext& ctx, int first) const;
  // A shape of rank 4 in this layout.
  absl::StatusOr<TensorShape> MakeShape(int64_t batch, int64_t rows, int64_t columns, int64_t channels) const;
  // Dimension `axis` (0: rows, 1: columns) for an input and a filter of those sizes. InvalidArgument where the output
  // would be negative or too large.
  absl::StatusOr<WindowDim> Dim(int axis, int64_t in, int64_t filter) const;

  bool channels_first = false;  // NCHW
  std::string padding;
  int64_t strides[2] = {1, 1}, dilations[2] = {1, 1}, ksize[2] = {1, 1};
  int64_t depth_ksize = 1, depth_stride = 1;
  int64_t explicit_padding[2][2] = {};
};

// Four positive numbers, one for each dimension, below 2^31.
absl::Status CheckWindow(absl::Span<const int64_t> window, absl::string_view name);

}  // namespace weir
