#include "kernels/convolution/args_volume.h"

#include "core/tensor/index_tensor.h"

#include <limits>

namespace weir {
namespace {

const char* LabelOf(bool of_input) { return of_input ? "Conv3DBackpropInputOp" : "Conv3DBackpropFilterOp"; }

constexpr int64_t kMaxSize = std::numeric_limits<int32_t>::max();

// Reads values[first + i] for the spatial dimensions; batch and channels must be 1.
absl::Status ReadSpatial(absl::Span<const int64_t> values, bool channels_first, const char* name, int64_t* spatial) {
  const int n = static_cast<int>(values.size()) - 2, channel = channels_first ? 1 : n + 1;
  if (values[0] != 1 || values[channel] != 1) {
    return errors::Unimplemented("Pooling and convolution are not supported along the batch and depth dimensions: ",
                                 name);
  }
  for (int i = 0; i < n; ++i) {
    const int64_t value = values[i + (channels_first ? 2 : 1)];
    if (value < 1 || value > kMaxSize) {
      return errors::InvalidArgument("Sliding window ", name, " must be positive, got ", value);
    }
    spatial[3 - n + i] = value;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<VolumeAttrs> VolumeAttrs::Read(OpKernelConstruction& ctx) {
  VolumeAttrs attrs;
  std::string format;
  if (ctx.HasAttr("data_format")) RETURN_IF_ERROR(ctx.GetAttr("data_format", &format));
  if (format.find("VECT") != std::string::npos) {
    return errors::Unimplemented(ctx.op(), " does not know the data format ", format);
  }
  attrs.channels_first = format == "CHANNELS_FIRST" || (format.size() >= 4 && format[1] == 'C' && format[0] == 'N');
  RETURN_IF_ERROR(ctx.GetAttr("padding", &attrs.padding));
  struct {
    const char* name;
    int64_t* spatial;
  } const windows[] = {{"strides", attrs.strides}, {"ksize", attrs.ksize}, {"dilations", attrs.dilations}};
  for (const auto& [name, spatial] : windows) {
    if (!ctx.HasAttr(name)) continue;
    std::vector<int64_t> values;
    RETURN_IF_ERROR(ctx.GetAttr(name, &values));
    if (values.empty() && std::string(name) != "strides") continue;
    if (values.size() < 3 || values.size() > 5) {
      return errors::InvalidArgument("Sliding window ", name, " field must specify 5 dimensions");
    }
    attrs.spatial = static_cast<int>(values.size()) - 2;
    RETURN_IF_ERROR(ReadSpatial(values, attrs.channels_first, name, spatial));
  }
  std::vector<int64_t> amounts;
  if (ctx.HasAttr("explicit_paddings")) RETURN_IF_ERROR(ctx.GetAttr("explicit_paddings", &amounts));
  if (attrs.padding == "EXPLICIT") {
    if (static_cast<int>(amounts.size()) != 2 * (attrs.spatial + 2)) {
      return errors::InvalidArgument("explicit_paddings attribute must contain ", 2 * (attrs.spatial + 2),
                                     " values, but got: ", amounts.size());
    }
    for (int64_t amount : amounts) {
      if (amount < 0 || amount > kMaxSize) return errors::InvalidArgument("explicit_paddings must be nonnegative");
    }
    for (int i = 0; i < attrs.spatial; ++i) {
      const int at = 2 * (i + (attrs.channels_first ? 2 : 1));
      for (int side : {0, 1}) attrs.explicit_padding[3 - attrs.spatial + i][side] = amounts[at + side];
    }
  }
  return attrs;
}

absl::Status VolumeAttrs::SetWindows(absl::Span<const int64_t> ksize_values, absl::Span<const int64_t> stride_values) {
  if (static_cast<int>(ksize_values.size()) != spatial + 2 || ksize_values.size() != stride_values.size()) {
    return errors::InvalidArgument("Sliding window ksize and strides fields must specify ", spatial + 2, " dimensions");
  }
  RETURN_IF_ERROR(ReadSpatial(ksize_values, channels_first, "ksize", ksize));
  return ReadSpatial(stride_values, channels_first, "strides", strides);
}

absl::StatusOr<VolumeShape> VolumeShape::Make(const VolumeAttrs& attrs, const TensorShape& in, const int64_t* window) {
  const int n = attrs.spatial;
  if (in.dims() != n + 2) {
    return errors::InvalidArgument("tensor_in must be ", n + 2, "-dimensional, got ", in.ToString());
  }
  VolumeShape shape;
  shape.spatial = n;
  shape.channels_first = attrs.channels_first;
  shape.batch = in.dim_size(0);
  shape.channels = in.dim_size(attrs.channels_first ? 1 : n + 1);
  // The two-dimensional code computes one dimension at a time.
  for (int i = 0; i < 3; ++i) {
    WindowAttrs one;
    one.padding = attrs.padding;
    one.strides[0] = attrs.strides[i];
    one.dilations[0] = attrs.dilations[i];
    for (int side : {0, 1}) one.explicit_padding[0][side] = attrs.explicit_padding[i][side];
    const bool used = i >= 3 - n;
    const int64_t size = used ? in.dim_size(i - (3 - n) + (attrs.channels_first ? 2 : 1)) : 1;
    ASSIGN_OR_RETURN(shape.dims[i], one.Dim(0, size, used ? (window != nullptr ? window[i] : attrs.ksize[i]) : 1));
  }
  return shape;
}

absl::StatusOr<TensorShape> VolumeShape::Output(int64_t out_channels) const {
  DimVector sizes = {batch};
  if (channels_first) sizes.push_back(out_channels);
  for (int i = 3 - spatial; i < 3; ++i) sizes.push_back(dims[i].out);
  if (!channels_first) sizes.push_back(out_channels);
  return TensorShape::Build(sizes);
}

absl::StatusOr<VolumeConvolution> VolumeConvolution::Of(const VolumeAttrs& attrs, const TensorShape& in,
                                                        const TensorShape& filter) {
  const int rank = attrs.spatial + 2;
  if (filter.dims() != rank) {
    return errors::InvalidArgument("filter must be ", rank, "-dimensional: ", filter.ToString());
  }
  if (filter.num_elements() == 0)
    return errors::InvalidArgument("filter must not have zero elements (i.e. all dimensions must be non-zero)");
  int64_t window[3] = {1, 1, 1};
  for (int i = 0; i < attrs.spatial; ++i) window[3 - attrs.spatial + i] = filter.dim_size(i);
  if (in.dims() != rank) return errors::InvalidArgument("input must be ", rank, "-dimensional: ", in.ToString());
  VolumeConvolution p;
  ASSIGN_OR_RETURN(p.s, VolumeShape::Make(attrs, in, window));
  const int64_t filter_in = filter.dim_size(rank - 2);
  p.out_channels = filter.dim_size(rank - 1);
  if (p.s.channels == 0 || p.s.channels % filter_in != 0) {
    return errors::InvalidArgument("Input depth must be evenly divisible by filter depth: ", p.s.channels, " vs ",
                                   filter_in);
  }
  p.groups = p.s.channels / filter_in;
  if (p.out_channels % p.groups != 0) {
    return errors::InvalidArgument("Output depth must be evenly divisible by number of groups: ", p.out_channels,
                                   " vs ", p.groups);
  }
  return p;
}

absl::Status VolumeConvolution::CheckOperands(const VolumeAttrs& attrs, const TensorShape& in,
                                              const TensorShape& filter, const TensorShape& gradient, bool of_input) {
  const std::pair<const char*, const TensorShape*> operands[] = {
      {"input", &in}, {"filter_sizes", &filter}, {"out_backprop", &gradient}};
  for (const auto& [name, shape] : operands) {
    if (shape->dims() != 5) return errors::InvalidArgument(name, " tensor must have 5 dimensions");
  }
  const int channels = attrs.channels_first ? 1 : 4;
  const int64_t depth = in.dim_size(channels), filter_depth = filter.dim_size(3);
  if (filter_depth == 0 || depth == 0 || depth % filter_depth != 0) {
    return errors::InvalidArgument("input and filter_sizes must have the same number of channels. Got ", depth,
                                   " for input and ", filter_depth, " for filter_sizes");
  }
  if (gradient.dim_size(channels) != filter.dim_size(4)) {
    return errors::InvalidArgument("out_backprop and filter_sizes must have the same number of channels. Got ",
                                   gradient.dim_size(channels), " for out_backprop and ", filter.dim_size(4),
                                   " for filter_sizes");
  }
  if (gradient.dim_size(0) == in.dim_size(0)) return absl::OkStatus();
  return errors::InvalidArgument(
      LabelOf(of_input), ": input and out_backprop must have the same batch size. Input batch: ", in.dim_size(0),
      ", outbackprop batch: ", gradient.dim_size(0), ", batch_dim: 0");
}

absl::Status VolumeConvolution::CheckGradient(const TensorShape& gradient, bool of_input) const {
  ASSIGN_OR_RETURN(const TensorShape expected, s.Output(out_channels));
  if (gradient == expected) return absl::OkStatus();
  const char* const label = LabelOf(of_input);
  const int first = s.channels_first ? 2 : 1;
  for (int i = 0; i < s.spatial && gradient.dims() == expected.dims(); ++i) {
    RETURN_IF_ERROR(CheckGradientDim(label, first + i, s.dims[3 - s.spatial + i], gradient.dim_size(first + i)));
  }
  return errors::InvalidArgument(label, ": Size of out_backprop doesn't match computed: actual = ", gradient.ToString(),
                                 ", computed = ", expected.ToString());
}

absl::StatusOr<TensorShape> ReadSizes(const Tensor& tensor, absl::string_view name) {
  if (tensor.dims() != 1) {
    return errors::InvalidArgument(name, " must be a vector, got shape ", tensor.shape().ToString());
  }
  ASSIGN_OR_RETURN(const DimVector sizes, ReadIntegers(tensor));
  return TensorShape::Build(sizes);
}

}  // namespace weir
