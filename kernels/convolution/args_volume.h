// Shapes of convolutions and pooling over up to three spatial dimensions, checked; for the kernels of all devices.
#pragma once

#include "kernels/convolution/window.h"

namespace weir {

// Attributes of an op with windows over one to three spatial dimensions; fewer stand last, the others have size 1.
struct VolumeAttrs {
  // From ksize (where the op has it), strides, dilations, padding, explicit_paddings and data_format.
  static absl::StatusOr<VolumeAttrs> Read(OpKernelConstruction& ctx);
  // Sets ksize and strides from values, for ops that take them as inputs.
  absl::Status SetWindows(absl::Span<const int64_t> ksize, absl::Span<const int64_t> strides);

  int spatial = 3;
  bool channels_first = false;
  std::string padding;
  int64_t ksize[3] = {1, 1, 1}, strides[3] = {1, 1, 1}, dilations[3] = {1, 1, 1};
  int64_t depth_ksize = 1, depth_stride = 1;  // other than 1 only of MaxPoolWithArgmax
  int64_t explicit_padding[3][2] = {};
};

// One problem: images are dense [batch, d0, d1, d2, channels] or [batch, channels, d0, d1, d2].
struct VolumeShape {
  // For an input of that shape and a window of the attribute ksize, or `window`.
  static absl::StatusOr<VolumeShape> Make(const VolumeAttrs& attrs, const TensorShape& in, const int64_t* window);

  // The shape of an output with that many channels, in the input's layout and rank.
  absl::StatusOr<TensorShape> Output(int64_t channels) const;
  int64_t InputPixels() const { return dims[0].in * dims[1].in * dims[2].in; }
  int64_t OutputPixels() const { return dims[0].out * dims[1].out * dims[2].out; }

  int spatial = 3;
  bool channels_first = false;
  int64_t batch = 0, channels = 0;
  WindowDim dims[3];
};

// One convolution. The filter is [d0, d1, d2, in_channels / groups, out_channels]; it may be empty.
struct VolumeConvolution {
  static absl::StatusOr<VolumeConvolution> Of(const VolumeAttrs& attrs, const TensorShape& in,
                                              const TensorShape& filter);
  // InvalidArgument unless the operands of the gradient of the input (or filter) fit one another.
  static absl::Status CheckOperands(const VolumeAttrs& attrs, const TensorShape& in, const TensorShape& filter,
                                    const TensorShape& gradient, bool of_input);
  // InvalidArgument unless `gradient` has the output's shape. `of_input`: for the gradient of the input.
  absl::Status CheckGradient(const TensorShape& gradient, bool of_input) const;

  int64_t group_in() const { return s.channels / groups; }
  int64_t group_out() const { return out_channels / groups; }

  VolumeShape s;
  int64_t groups = 1, out_channels = 0;
};

// A shape in host memory; `name` names it in errors.
absl::StatusOr<TensorShape> ReadSizes(const Tensor& tensor, absl::string_view name);

}  // namespace weir
