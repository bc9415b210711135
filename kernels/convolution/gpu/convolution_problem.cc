#include "kernels/convolution/gpu/convolution_problem.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace weir {
namespace {

const char* NameOf(ConvolutionDirection direction) {
  switch (direction) {
    case ConvolutionDirection::kForward:
      return "forward";
    case ConvolutionDirection::kBackwardData:
      return "backward_data";
    default:
      return "backward_filter";
  }
}

void SetSteps(bool channels_first, int64_t channels, int64_t rows, int64_t columns, int64_t (&steps)[4]) {
  steps[0] = channels * rows * columns;
  steps[1] = channels_first ? rows * columns : 1;
  steps[2] = channels_first ? columns : columns * channels;
  steps[3] = channels_first ? 1 : channels;
}

std::string Pair(const int64_t (&values)[2]) { return absl::StrCat(values[0], ",", values[1]); }

}  // namespace

ConvolutionOp::ConvolutionOp(absl::string_view op)
    : direction(absl::StrContains(op, "BackpropInput")    ? ConvolutionDirection::kBackwardData
                : absl::StrContains(op, "BackpropFilter") ? ConvolutionDirection::kBackwardFilter
                                                          : ConvolutionDirection::kForward),
      is_depthwise(absl::StartsWith(op, "Depthwise")) {}

int64_t ConvolutionProblem::ResultElements() const {
  switch (direction) {
    case ConvolutionDirection::kForward:
      return OutElements();
    case ConvolutionDirection::kBackwardData:
      return InElements();
    default:
      return FilterElements();
  }
}

std::string ConvolutionProblem::ToString() const {
  return absl::StrCat(NameOf(direction), " ", DataTypeName(dtype), channels_first ? " nchw" : " nhwc", " in=", batch,
                      "x", in[0], "x", in[1], "x", in_channels, " filter=", filter[0], "x", filter[1], "x",
                      in_channels / groups, "x", out_channels, " out=", batch, "x", out[0], "x", out[1], "x",
                      out_channels, " groups=", groups, " padding=", Pair(padding), " stride=", Pair(stride),
                      " dilation=", Pair(dilation));
}

ConvolutionSteps ConvolutionSteps::Of(const ConvolutionProblem& problem) {
  ConvolutionSteps steps;
  SetSteps(problem.channels_first, problem.in_channels, problem.in[0], problem.in[1], steps.in);
  SetSteps(problem.channels_first, problem.in_channels / problem.groups, problem.filter[0], problem.filter[1],
           steps.filter);
  SetSteps(problem.channels_first, problem.out_channels, problem.out[0], problem.out[1], steps.out);
  return steps;
}

PaddedConvolution PadEvenly(const ConvolutionShape& shape, ConvolutionDirection direction, DataType dtype) {
  PaddedConvolution padded;
  ConvolutionProblem& problem = padded.problem;
  problem.direction = direction;
  problem.dtype = dtype;
  problem.channels_first = shape.channels_first;
  problem.batch = shape.batch;
  problem.in_channels = shape.in_channels;
  problem.out_channels = shape.out_channels;
  problem.groups = shape.groups;
  for (int i = 0; i < 2; ++i) {
    const WindowDim& dim = i == 0 ? shape.rows : shape.columns;
    problem.padding[i] = std::min(dim.before, dim.after);
    padded.extra_before[i] = dim.before - problem.padding[i];
    padded.extra_after[i] = dim.after - problem.padding[i];
    problem.in[i] = dim.in + padded.extra_before[i] + padded.extra_after[i];
    problem.filter[i] = dim.filter;
    problem.out[i] = dim.out;
    problem.stride[i] = dim.stride;
    problem.dilation[i] = dim.dilation;
  }
  return padded;
}

}  // namespace weir
