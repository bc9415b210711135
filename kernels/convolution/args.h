// Shapes of convolutions and pooling over images, checked; for the kernels of all devices.
#pragma once

#include "kernels/convolution/window.h"

namespace weir {

// One convolution. The filter is [rows, columns, in_channels / groups, out_channels]; images are NHWC or NCHW.
struct ConvolutionShape {
  // InvalidArgument, starting with `label`, unless input and gradient are images of one batch and filter is a filter.
  static absl::Status CheckOperands(const TensorShape& input, const TensorShape& filter, const TensorShape& gradient,
                                    absl::string_view label);
  // For an image of shape `input` and a filter. InvalidArgument if they do not fit. `label` begins the errors of a
  // gradient op and is empty otherwise. A gradient's filter may be empty.
  static absl::StatusOr<ConvolutionShape> Of(const WindowAttrs& attrs, const TensorShape& input,
                                             const TensorShape& filter, absl::string_view label = "");
  // Depthwise: the filter is [rows, columns, in_channels, multiplier], and each channel is a group.
  static absl::StatusOr<ConvolutionShape> Depthwise(const WindowAttrs& attrs, const TensorShape& input,
                                                    const TensorShape& filter, absl::string_view depth);
  absl::StatusOr<TensorShape> Output(const WindowAttrs& attrs) const {
    return attrs.MakeShape(batch, rows.out, columns.out, out_channels);
  }
  // InvalidArgument, starting with `label`, unless `gradient` has the output's shape.
  absl::Status CheckGradient(const WindowAttrs& attrs, const TensorShape& gradient, absl::string_view label) const;

  int64_t InputElements() const { return batch * in_channels * rows.in * columns.in; }
  int64_t OutputElements() const { return batch * out_channels * rows.out * columns.out; }
  int64_t FilterElements() const { return rows.filter * columns.filter * (in_channels / groups) * out_channels; }
  int64_t Multiplications() const { return OutputElements() * rows.filter * columns.filter * (in_channels / groups); }

  int64_t batch = 0, in_channels = 0, out_channels = 0, groups = 1;
  bool channels_first = false;
  WindowDim rows, columns;
};

// Unimplemented unless pooling over depth by a window other than 1 has whole, disjoint windows of one pixel.
// `spatial_window` is the number of pixels in a window.
absl::Status CheckDepthPooling(int64_t depth, int64_t spatial_window, int64_t window, int64_t stride);

// One pooling. An image is split into runs of channels (NHWC) or single planes (NCHW), so that an innermost loop is
// over `run` neighbours.
struct PoolShape {
  static absl::StatusOr<PoolShape> Of(const WindowAttrs& attrs, const TensorShape& in);
  absl::StatusOr<TensorShape> Output(const WindowAttrs& attrs) const {
    return attrs.MakeShape(batch, rows.out, columns.out, channels);
  }

  int64_t planes() const { return channels_first ? batch * channels : batch; }
  int64_t run() const { return channels_first ? 1 : channels; }
  int64_t InputPlane() const { return rows.in * columns.in * run(); }
  int64_t OutputPlane() const { return rows.out * columns.out * run(); }

  int64_t batch = 0, channels = 0;
  bool channels_first = false;
  WindowDim rows, columns;
};

}  // namespace weir
