// Windows that slide over two or three spatial dimensions, for pooling and convolution without a special form.
#pragma once

#include <algorithm>

#include "core/window.h"
#include "kernels/cpu/elements.h"

namespace weir {

// Attributes of an op with windows over one to three spatial dimensions; fewer stand last, the others have size 1.
struct VolumeAttrs {
  // From ksize (where the op has it), strides, dilations, padding, explicit_paddings and data_format.
  static absl::StatusOr<VolumeAttrs> Read(OpKernelConstruction& ctx);
  // The same with `size` spatial dimensions given by values, as ops with inputs for them need.
  absl::Status SetWindows(absl::Span<const int64_t> ksize, absl::Span<const int64_t> strides);

  int spatial = 3;
  bool channels_first = false;
  std::string padding;
  int64_t ksize[3] = {1, 1, 1}, strides[3] = {1, 1, 1}, dilations[3] = {1, 1, 1};
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

// The inputs that output i of a dimension without dilation looks at, without the padding.
inline std::pair<int64_t, int64_t> WindowRange(const WindowDim& dim, int64_t i) {
  const int64_t first = i * dim.stride - dim.before;
  return {std::max<int64_t>(0, first), std::min(dim.in, first + dim.filter)};
}

// fn(output pixel, ranges[3]) for each output pixel.
template <typename Fn>
void EachVolumeWindow(const VolumeShape& s, Fn fn) {
  std::pair<int64_t, int64_t> ranges[3];
  int64_t pixel = 0;
  for (int64_t z = 0; z < s.dims[0].out; ++z) {
    ranges[0] = WindowRange(s.dims[0], z);
    for (int64_t y = 0; y < s.dims[1].out; ++y) {
      ranges[1] = WindowRange(s.dims[1], y);
      for (int64_t x = 0; x < s.dims[2].out; ++x) {
        ranges[2] = WindowRange(s.dims[2], x);
        fn(pixel++, ranges);
      }
    }
  }
}
// fn(input pixel) for each pixel within the ranges.
template <typename Fn>
void EachPixel(const VolumeShape& s, const std::pair<int64_t, int64_t>* ranges, Fn fn) {
  for (int64_t z = ranges[0].first; z < ranges[0].second; ++z) {
    for (int64_t y = ranges[1].first; y < ranges[1].second; ++y) {
      for (int64_t x = ranges[2].first; x < ranges[2].second; ++x) {
        fn((z * s.dims[1].in + y) * s.dims[2].in + x);
      }
    }
  }
}

// A copy of `tensor`, whose channels come second, with the channels last, or the other way round.
absl::StatusOr<Tensor> ChannelsLast(OpKernelContext& ctx, const Tensor& tensor);
absl::Status CopyChannelsFirst(OpKernelContext& ctx, const Tensor& channels_last, Tensor* channels_first);

}  // namespace weir
