// The description of a convolution for GPU libraries.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "core/tensor/types.h"
#include "kernels/convolution/args.h"

namespace weir {

enum class ConvolutionDirection { kForward, kBackwardData, kBackwardFilter };

// What an op computes: Conv2D, DepthwiseConv2dNative, or a gradient of theirs.
struct ConvolutionOp {
  explicit ConvolutionOp(absl::string_view op);
  ConvolutionDirection direction;
  bool is_depthwise;
};

// Types that libraries compute; loops compute the others.
constexpr bool AreConvolvedByLibraries(DataType type) {
  return type == DT_FLOAT || type == DT_HALF || type == DT_BFLOAT16;
}

// Rows first, then columns, in all pairs. Images are [batch, channels, rows, columns] (channels_first) or [batch, rows,
// columns, channels], and filters [out, in of a group, rows, columns] or [out, rows, columns, in of a group]; dense.
struct ConvolutionProblem {
  static constexpr char kNoun[] = "convolution";
  static constexpr char kOtherwise[] = "plain loops compute it, which are slow";
  static constexpr size_t kMostCandidates = 8;

  ConvolutionDirection direction = ConvolutionDirection::kForward;
  DataType dtype = DT_INVALID;
  bool channels_first = false;
  int64_t batch = 0, in_channels = 0, out_channels = 0, groups = 1;
  int64_t in[2] = {}, filter[2] = {}, out[2] = {};
  int64_t padding[2] = {};  // on both sides
  int64_t stride[2] = {1, 1}, dilation[2] = {1, 1};

  int64_t InElements() const { return batch * in_channels * in[0] * in[1]; }
  int64_t FilterElements() const { return out_channels * (in_channels / groups) * filter[0] * filter[1]; }
  int64_t OutElements() const { return batch * out_channels * out[0] * out[1]; }
  // The shape of the direction's result.
  int64_t ResultElements() const;
  bool IsChannelsFirst() const { return channels_first; }
  ConvolutionProblem InLayout(bool first) const {
    ConvolutionProblem other = *this;
    other.channels_first = first;
    return other;
  }

  friend bool operator==(const ConvolutionProblem&, const ConvolutionProblem&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const ConvolutionProblem& p) {
    return H::combine(std::move(h), p.direction, p.dtype, p.channels_first, p.batch, p.in_channels, p.out_channels,
                      p.groups, p.in[0], p.in[1], p.filter[0], p.filter[1], p.out[0], p.out[1], p.padding[0],
                      p.padding[1], p.stride[0], p.stride[1], p.dilation[0], p.dilation[1]);
  }
  // "forward float nhwc in=8x32x32x16 filter=3x3x16x32 out=8x32x32x32 groups=1 padding=1,1 stride=1,1 dilation=1,1":
  // the same for equal problems alone. It has no tab and no line end.
  std::string ToString() const;
};

// Where the elements of a problem's dense tensors lie. Images: of [batch, channel, row, column]; filters: of [out, in
// of a group, row, column].
struct ConvolutionSteps {
  int64_t in[4], filter[4], out[4];

  static ConvolutionSteps Of(const ConvolutionProblem& problem);
};

// Uneven padding, expressed by even padding: libraries pad both sides alike. The input grows by `extra` zeros, which
// are cut off its gradient.
struct PaddedConvolution {
  ConvolutionProblem problem;
  int64_t extra_before[2] = {}, extra_after[2] = {};

  bool IsPadded() const { return (extra_before[0] | extra_before[1] | extra_after[0] | extra_after[1]) != 0; }
};

// As in TensorFlow, the library adds the padding that both sides have in common.
PaddedConvolution PadEvenly(const ConvolutionShape& shape, ConvolutionDirection direction, DataType dtype);

}  // namespace weir
