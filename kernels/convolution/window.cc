#include "kernels/convolution/window.h"

#include <algorithm>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "core/tensor/index_tensor.h"

namespace weir {
namespace {

constexpr int64_t kMaxSize = std::numeric_limits<int32_t>::max();

absl::Status ReadPadding(OpKernelConstruction& ctx, WindowAttrs& attrs) {
  RETURN_IF_ERROR(ctx.GetAttr("padding", &attrs.padding));
  std::vector<int64_t> amounts;
  if (ctx.HasAttr("explicit_paddings")) RETURN_IF_ERROR(ctx.GetAttr("explicit_paddings", &amounts));
  if (attrs.padding != "EXPLICIT") {
    if (amounts.empty()) return absl::OkStatus();
    return errors::InvalidArgument(
        "explicit_paddings attribute must be empty if the padding attribute is not EXPLICIT");
  }
  if (amounts.size() != 8) {
    return errors::InvalidArgument("explicit_paddings attribute must contain 8 values, but got: ", amounts.size());
  }
  for (int64_t amount : amounts) {
    // Pooling compares them with its window.
    if (amount < 0 || (amount > kMaxSize && !ctx.HasAttr("ksize"))) {
      return errors::InvalidArgument("All elements of explicit_paddings must be nonnegative and below 2^31, got ",
                                     amount);
    }
  }
  const int channel = attrs.ChannelAxis();
  if (amounts[0] != 0 || amounts[1] != 0 || amounts[2 * channel] != 0 || amounts[2 * channel + 1] != 0) {
    return errors::InvalidArgument("Nonzero explicit padding in the batch or depth dimensions is not supported");
  }
  for (int axis = 0; axis < 2; ++axis) {
    for (int side = 0; side < 2; ++side) {
      attrs.explicit_padding[axis][side] = amounts[2 * (attrs.RowAxis() + axis) + side];
    }
  }
  return absl::OkStatus();
}

// TensorFlow's error code for strides and dilations over batch or depth.
absl::StatusCode CodeOfUnsupported(absl::string_view op, absl::string_view name) {
  const bool is_depthwise = absl::StartsWith(op, "DepthwiseConv2dNative");
  const bool is_invalid = op == "Conv2DBackpropFilter" || op == "FusedPadConv2D" || op == "FusedResizeAndPadConv2D" ||
                          (is_depthwise && name == "strides");
  return is_invalid ? absl::StatusCode::kInvalidArgument : absl::StatusCode::kUnimplemented;
}

absl::Status CheckConvolutionWindow(absl::string_view op, absl::string_view name, absl::Span<const int64_t> values,
                                    int row, int channel) {
  if (values.size() != 4) {
    return errors::InvalidArgument("Sliding window ", name, " field must specify 4 dimensions");
  }
  for (int64_t value : values) {
    if (value < -kMaxSize - 1 || value > kMaxSize) {
      return errors::InvalidArgument("Attr ", name, " has value ", value, " out of range for an int32");
    }
  }
  if (values[0] != 1 || values[channel] != 1) {
    return absl::Status(CodeOfUnsupported(op, name), absl::StrCat("Current implementation does not yet support ", name,
                                                                  " in the batch and depth dimensions."));
  }
  if (values[row] < 1 || values[row + 1] < 1) {
    return errors::InvalidArgument(name == "strides" ? "Row and column strides" : "Dilated rates",
                                   " should be larger than 0.");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckWindow(absl::Span<const int64_t> window, absl::string_view name) {
  if (window.size() != 4) {
    return errors::InvalidArgument("Sliding window ", name, " field must specify 4 dimensions");
  }
  for (int64_t size : window) {
    if (size < 1 || size > kMaxSize) {
      return errors::InvalidArgument("Sliding window ", name, " must be positive. The specified or inferred ", name,
                                     " is: ", absl::StrJoin(window, ","));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckGradientDim(absl::string_view label, int dimension, const WindowDim& dim, int64_t actual) {
  if (actual == dim.out) return absl::OkStatus();
  return errors::InvalidArgument(label, ": Size of out_backprop doesn't match computed: actual = ", actual,
                                 ", computed = ", dim.out, " spatial_dim: ", dimension, " input: ", dim.in,
                                 " filter: ", dim.filter, " output: ", actual, " stride: ", dim.stride,
                                 " dilation: ", dim.dilation);
}

absl::StatusOr<WindowAttrs> WindowAttrs::Read(OpKernelConstruction& ctx) {
  WindowAttrs attrs;
  std::string format = "NHWC";
  if (ctx.HasAttr("data_format")) RETURN_IF_ERROR(ctx.GetAttr("data_format", &format));
  if (format != "NHWC" && format != "NCHW") {
    return errors::InvalidArgument(ctx.op(), " on CPU knows the data formats NHWC and NCHW, not ", format);
  }
  attrs.channels_first = format == "NCHW";
  const int row = attrs.RowAxis(), channel = attrs.ChannelAxis();
  struct {
    const char* name;
    int64_t* spatial;
    int64_t* depth;  // nullptr: is 1
  } const windows[] = {{"strides", attrs.strides, &attrs.depth_stride},
                       {"ksize", attrs.ksize, &attrs.depth_ksize},
                       {"dilations", attrs.dilations, nullptr}};
  const bool pools = ctx.HasAttr("ksize");
  for (const auto& window : windows) {
    if (!ctx.HasAttr(window.name)) continue;
    std::vector<int64_t> values;
    RETURN_IF_ERROR(ctx.GetAttr(window.name, &values));
    if (!pools) {
      RETURN_IF_ERROR(CheckConvolutionWindow(ctx.op(), window.name, values, row, channel));
    } else {
      RETURN_IF_ERROR(CheckWindow(values, window.name));
      if (values[0] != 1) return errors::Unimplemented("Pooling is not yet supported on the batch dimension.");
    }
    if (window.depth != nullptr) *window.depth = values[channel];
    std::copy_n(values.begin() + row, 2, window.spatial);
  }
  RETURN_IF_ERROR(ReadPadding(ctx, attrs));
  return attrs;
}

absl::StatusOr<WindowAttrs> WindowAttrs::WithInputs(OpKernelContext& ctx, int first) const {
  WindowAttrs attrs = *this;
  if (ctx.num_inputs() <= first) return attrs;
  struct {
    const char* name;
    int64_t* spatial;
    int64_t* depth;
  } const windows[] = {{"ksize", attrs.ksize, &attrs.depth_ksize}, {"strides", attrs.strides, &attrs.depth_stride}};
  for (int i = 0; i < 2; ++i) {
    ASSIGN_OR_RETURN(const DimVector values, ReadIntegers(ctx.input(first + i)));
    RETURN_IF_ERROR(CheckWindow(values, windows[i].name));
    if (values[0] != 1) return errors::Unimplemented("Pooling is not yet supported on the batch dimension.");
    *windows[i].depth = values[attrs.ChannelAxis()];
    std::copy_n(values.begin() + attrs.RowAxis(), 2, windows[i].spatial);
  }
  return attrs;
}

absl::StatusOr<TensorShape> WindowAttrs::MakeShape(int64_t batch, int64_t rows, int64_t columns,
                                                   int64_t channels) const {
  if (channels_first) return TensorShape::Build({batch, channels, rows, columns});
  return TensorShape::Build({batch, rows, columns, channels});
}

absl::StatusOr<WindowDim> WindowAttrs::Dim(int axis, int64_t in, int64_t filter) const {
  WindowDim dim;
  dim.in = in;
  dim.filter = filter;
  dim.stride = strides[axis];
  dim.dilation = dilations[axis];
  if (in > kMaxSize || filter < 0 || filter > kMaxSize) {
    return errors::InvalidArgument("A window of ", filter, " over ", in, " elements is out of range");
  }
  const int64_t effective = (filter - 1) * dim.dilation + 1;
  if (padding == "SAME") {
    dim.out = (in + dim.stride - 1) / dim.stride;
    const int64_t needed = std::max<int64_t>(0, (dim.out - 1) * dim.stride + effective - in);
    dim.before = needed / 2;
    dim.after = needed - dim.before;
    return dim;
  }
  if (padding == "EXPLICIT") {
    dim.before = explicit_padding[axis][0];
    dim.after = explicit_padding[axis][1];
  }
  const int64_t room = in + dim.before + dim.after - effective + dim.stride;
  // Rounds as TensorFlow does: an input that is less than a stride smaller than the window gives an empty output.
  if (room / dim.stride < 0) {
    return errors::InvalidArgument("Computed output size would be negative: ", room / dim.stride, " [input_size: ", in,
                                   ", effective_filter_size: ", effective, ", stride: ", dim.stride, "]");
  }
  dim.out = room / dim.stride;
  return dim;
}

}  // namespace weir
