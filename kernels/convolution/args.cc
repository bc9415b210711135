#include "kernels/convolution/args.h"

#include <algorithm>

namespace weir {
namespace {

absl::Status CheckRank(const TensorShape& shape, absl::string_view label, const char* name) {
  if (shape.dims() == 4) return absl::OkStatus();
  return errors::InvalidArgument(label, name, " must be 4-dimensional: ", shape.ToString());
}

absl::Status CheckRanks(const TensorShape& input, const TensorShape& filter, const char* input_name) {
  RETURN_IF_ERROR(CheckRank(input, "", input_name));
  return CheckRank(filter, "", "filter");
}

absl::Status CheckPoolPadding(const char* side, int64_t padding, int64_t window) {
  if (padding < window) return absl::OkStatus();
  return errors::InvalidArgument(side, " padding ", padding, " needs to be smaller than the window size ", window);
}

}  // namespace

absl::Status CheckDepthPooling(int64_t depth, int64_t spatial_window, int64_t window, int64_t stride) {
  if (spatial_window != 1) {
    return errors::Unimplemented(
        "MaxPooling supports exactly one of pooling across depth or pooling across width/height.");
  }
  if (depth % window != 0) {
    return errors::Unimplemented("Depthwise max pooling requires the depth window to evenly divide the input depth");
  }
  if (window == stride) return absl::OkStatus();
  return errors::Unimplemented("Depthwise max pooling requires the depth window to equal the depth stride");
}

absl::Status ConvolutionShape::CheckOperands(const TensorShape& input, const TensorShape& filter,
                                             const TensorShape& gradient, absl::string_view label) {
  const std::string prefix = absl::StrCat(label, ": ");
  RETURN_IF_ERROR(CheckRank(input, prefix, "input"));
  RETURN_IF_ERROR(CheckRank(filter, prefix, "filter"));
  RETURN_IF_ERROR(CheckRank(gradient, prefix, "out_backprop"));
  if (gradient.dim_size(0) == input.dim_size(0)) return absl::OkStatus();
  return errors::InvalidArgument(prefix, "input and out_backprop must have the same batch size. Input batch: ",
                                 input.dim_size(0), ", outbackprop batch: ", gradient.dim_size(0), ", batch_dim: 0");
}

absl::StatusOr<ConvolutionShape> ConvolutionShape::Of(const WindowAttrs& attrs, const TensorShape& input,
                                                      const TensorShape& filter, absl::string_view label) {
  const bool forward = label.empty();
  RETURN_IF_ERROR(CheckRanks(input, filter, forward ? "convolution input" : "input"));
  ConvolutionShape shape;
  shape.channels_first = attrs.channels_first;
  shape.batch = input.dim_size(0);
  shape.in_channels = input.dim_size(attrs.ChannelAxis());
  shape.out_channels = filter.dim_size(3);
  if (filter.dim_size(2) == 0) {
    if (forward) return errors::InvalidArgument("filter depth must be stricly positive, got 0");
    return errors::InvalidArgument(label, "filter depth must be strictly greated than zero");
  }
  if (shape.in_channels % filter.dim_size(2) != 0) {
    return errors::InvalidArgument(label, "input depth must be evenly divisible by filter depth: ", shape.in_channels,
                                   " vs ", filter.dim_size(2));
  }
  shape.groups = shape.in_channels / filter.dim_size(2);
  if (shape.groups == 0 && !forward) {
    return errors::InvalidArgument("number of groups must be positive: ", input.ToString());
  }
  shape.groups = std::max<int64_t>(1, shape.groups);
  if (shape.out_channels % shape.groups != 0) {
    return errors::InvalidArgument("output depth must be evenly divisible by number of groups: ", shape.out_channels,
                                   " vs ", shape.groups);
  }
  ASSIGN_OR_RETURN(shape.rows, attrs.Dim(0, input.dim_size(attrs.RowAxis()), filter.dim_size(0)));
  ASSIGN_OR_RETURN(shape.columns, attrs.Dim(1, input.dim_size(attrs.RowAxis() + 1), filter.dim_size(1)));
  const bool any_output = shape.batch > 0 && shape.rows.out > 0 && shape.columns.out > 0 && shape.out_channels > 0;
  if (forward && any_output && filter.num_elements() == 0) {
    return errors::InvalidArgument("filter must not have zero elements (i.e. all dimensions must be non-zero)");
  }
  return shape;
}

absl::StatusOr<ConvolutionShape> ConvolutionShape::Depthwise(const WindowAttrs& attrs, const TensorShape& input,
                                                             const TensorShape& filter, absl::string_view depth) {
  RETURN_IF_ERROR(CheckRanks(input, filter, "input"));
  ConvolutionShape shape;
  shape.channels_first = attrs.channels_first;
  shape.batch = input.dim_size(0);
  shape.in_channels = shape.groups = input.dim_size(attrs.ChannelAxis());
  if (shape.in_channels != filter.dim_size(2)) {
    return errors::InvalidArgument("input and filter must have the same ", depth, ": ", shape.in_channels, " vs ",
                                   filter.dim_size(2));
  }
  shape.out_channels = MultiplyWithoutOverflow(shape.in_channels, filter.dim_size(3));
  if (shape.out_channels < 0) {
    return errors::InvalidArgument(shape.in_channels, " channels times ", filter.dim_size(3), " are too many");
  }
  ASSIGN_OR_RETURN(shape.rows, attrs.Dim(0, input.dim_size(attrs.RowAxis()), filter.dim_size(0)));
  ASSIGN_OR_RETURN(shape.columns, attrs.Dim(1, input.dim_size(attrs.RowAxis() + 1), filter.dim_size(1)));
  return shape;
}

absl::Status ConvolutionShape::CheckGradient(const WindowAttrs& attrs, const TensorShape& gradient,
                                             absl::string_view label) const {
  if (gradient.dim_size(attrs.ChannelAxis()) != out_channels) {
    return errors::InvalidArgument(label, ": filter and out_backprop must have the same out_depth");
  }
  const int row = attrs.RowAxis();
  RETURN_IF_ERROR(CheckGradientDim(label, row, rows, gradient.dim_size(row)));
  return CheckGradientDim(label, row + 1, columns, gradient.dim_size(row + 1));
}

absl::StatusOr<PoolShape> PoolShape::Of(const WindowAttrs& attrs, const TensorShape& in) {
  if (in.dims() != 4)
    return errors::InvalidArgument("tensor_in must be 4-dimensional: tensor_in_shape must have 2 spatial dimensions. ",
                                   in.dims(), " 0, got ", in.ToString());
  // A stride over depth means nothing to windows of one channel.
  if (attrs.depth_ksize != 1) {
    RETURN_IF_ERROR(CheckDepthPooling(in.dim_size(attrs.ChannelAxis()), attrs.ksize[0] * attrs.ksize[1],
                                      attrs.depth_ksize, attrs.depth_stride));
    return errors::Unimplemented("Non-spatial pooling is not yet supported. Volunteers? :)");
  }
  const std::pair<const char*, const char*> sides[2] = {{"Top", "Bottom"}, {"Left", "Right"}};
  for (int axis = 0; axis < 2; ++axis) {
    const auto& [before, after] = sides[axis];
    RETURN_IF_ERROR(CheckPoolPadding(before, attrs.explicit_padding[axis][0], attrs.ksize[axis]));
    RETURN_IF_ERROR(CheckPoolPadding(after, attrs.explicit_padding[axis][1], attrs.ksize[axis]));
  }
  PoolShape shape;
  shape.channels_first = attrs.channels_first;
  shape.batch = in.dim_size(0);
  shape.channels = in.dim_size(attrs.ChannelAxis());
  ASSIGN_OR_RETURN(shape.rows, attrs.Dim(0, in.dim_size(attrs.RowAxis()), attrs.ksize[0]));
  ASSIGN_OR_RETURN(shape.columns, attrs.Dim(1, in.dim_size(attrs.RowAxis() + 1), attrs.ksize[1]));
  return shape;
}

}  // namespace weir
