// Loops over windows in two or three spatial dimensions, for convolutions and pooling without a specialised loop.
#pragma once

#include <algorithm>

#include "kernels/convolution/args_volume.h"
#include "kernels/device/elements.h"

namespace weir {

// The inputs of output i along a dimension without dilation, without the padding.
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

// A copy of `tensor` with its channels moved from second to last; and the reverse.
absl::StatusOr<Tensor> ChannelsLast(OpKernelContext& ctx, const Tensor& tensor);
absl::Status CopyChannelsFirst(OpKernelContext& ctx, const Tensor& channels_last, Tensor* channels_first);

}  // namespace weir
