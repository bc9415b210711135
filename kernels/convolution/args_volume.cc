#include "kernels/convolution/args_volume.h"

#include <limits>

#include "absl/strings/match.h"
#include "core/tensor/index_tensor.h"

namespace weir {
namespace {

const char* LabelOf(bool of_input) { return of_input ? "Conv3DBackpropInputOp" : "Conv3DBackpropFilterOp"; }

constexpr int64_t kMaxSize = std::numeric_limits<int32_t>::max();

// Which op reads a window, for its errors.
struct WindowReader {
  std::string op;
  bool channels_first = false;

  // Reads the spatial values, which stand last of three. Those of batch and depth must be 1, or only that of batch if
  // `depth` takes the other.
  absl::Status Read(absl::Span<const int64_t> values, absl::string_view name, int64_t* spatial,
                    int64_t* depth = nullptr) const {
    const int n = static_cast<int>(values.size()) - 2, channel = channels_first ? 1 : n + 1;
    if (values[0] != 1 || (depth == nullptr && values[channel] != 1)) return NotSpatial(name, values[0] != 1);
    if (depth != nullptr) *depth = values[channel];
    for (int i = 0; i < n; ++i) {
      const int64_t value = values[i + (channels_first ? 2 : 1)];
      if (value < 1 || value > kMaxSize) return NotPositive(name, value);
      spatial[3 - n + i] = value;
    }
    return absl::OkStatus();
  }

  bool convolves() const { return absl::StartsWith(op, "Conv"); }
  absl::Status NotSpatial(absl::string_view name, bool is_batch) const {
    if (!convolves()) {
      return errors::Unimplemented("Pooling is not yet supported on the ", is_batch ? "batch" : "depth", " dimension.");
    }
    return errors::InvalidArgument("Current implementation does not", op == "Conv" ? " " : " yet ", "support ",
                                   name == "dilations" ? "dilation rates" : name,
                                   " in the batch and depth dimensions.");
  }
  absl::Status NotPositive(absl::string_view name, int64_t value) const {
    if (!convolves()) return errors::InvalidArgument("Sliding window ", name, " must be positive, got ", value);
    return errors::InvalidArgument(name == "strides" ? "Spatial strides" : "Dilated rates",
                                   " should be larger than 0.");
  }
};

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
  const WindowReader reader{ctx.op(), attrs.channels_first};
  const bool pools_depth = ctx.op() == "MaxPoolWithArgmax";
  struct {
    const char* name;
    int64_t* spatial;
    int64_t* depth;
  } const windows[] = {{"strides", attrs.strides, pools_depth ? &attrs.depth_stride : nullptr},
                       {"ksize", attrs.ksize, pools_depth ? &attrs.depth_ksize : nullptr},
                       {"dilations", attrs.dilations, nullptr}};
  size_t rank = 0;
  for (const auto& [name, spatial, depth] : windows) {
    if (!ctx.HasAttr(name)) continue;
    std::vector<int64_t> values;
    RETURN_IF_ERROR(ctx.GetAttr(name, &values));
    if (values.empty() && rank != 0) continue;
    if (values.size() < 3 || values.size() > 5) {
      return errors::InvalidArgument("Sliding window ", name, " field must specify 5 dimensions");
    }
    if (rank != 0 && values.size() != rank) {
      return errors::InvalidArgument(name == std::string("dilations") ? "Dilation rates" : "Sliding window ksize",
                                     " field must specify", rank, "dimensions");
    }
    rank = values.size();
    attrs.spatial = static_cast<int>(rank) - 2;
    RETURN_IF_ERROR(reader.Read(values, name, spatial, depth));
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
  const WindowReader reader{"MaxPool", channels_first};
  RETURN_IF_ERROR(reader.Read(ksize_values, "ksize", ksize));
  return reader.Read(stride_values, "strides", strides);
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
  int64_t window[3] = {1, 1, 1};
  for (int i = 0; i < attrs.spatial; ++i) window[3 - attrs.spatial + i] = filter.dim_size(i);
  if (in.dims() != rank) return errors::InvalidArgument("input must be ", rank, "-dimensional: ", in.ToString());
  VolumeConvolution p;
  ASSIGN_OR_RETURN(p.s, VolumeShape::Make(attrs, in, window));
  const int64_t filter_in = filter.dim_size(rank - 2);
  p.out_channels = filter.dim_size(rank - 1);
  if (filter_in == 0) return errors::InvalidArgument("filter_depth must be non-zero");
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
  if (depth != filter_depth && (filter_depth == 0 || depth == 0 || depth % filter_depth != 0)) {
    return errors::InvalidArgument("input and filter_sizes must have the same number of channels. Got ", depth,
                                   " for input and ", filter_depth, " for filter_sizes");
  }
  if (gradient.dim_size(channels) != filter.dim_size(4)) {
    return errors::InvalidArgument("out_backprop and filter_sizes must have the same number of channels. Got ",
                                   gradient.dim_size(channels), " for out_backprop and ", filter.dim_size(4),
                                   " for filter_sizes");
  }
  if (gradient.dim_size(0) != in.dim_size(0)) {
    return errors::InvalidArgument(
        LabelOf(of_input), ": input and out_backprop must have the same batch size. Input batch: ", in.dim_size(0),
        ", outbackprop batch: ", gradient.dim_size(0), ", batch_dim: 0");
  }
  if (filter_depth > 0) return absl::OkStatus();
  return errors::InvalidArgument(LabelOf(of_input), ": filter depth must be strictly greated than zero");
}

absl::Status VolumeConvolution::CheckGradient(const TensorShape& gradient, bool of_input) const {
  ASSIGN_OR_RETURN(const TensorShape expected, s.Output(out_channels));
  if (gradient == expected) {
    const bool has_input = s.batch > 0 && s.InputPixels() > 0 && s.channels > 0;
    const int empty = (s.OutputPixels() == 0) + (out_channels == 0) +
                      (s.dims[0].filter == 0 || s.dims[1].filter == 0 || s.dims[2].filter == 0);
    if (!has_input || empty < 2) return absl::OkStatus();
    return errors::InvalidArgument("input, filter_sizes and out_backprop tensors must all have at least 1 element");
  }
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
