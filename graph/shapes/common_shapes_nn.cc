// Shape functions of neural-network ops.
#include <algorithm>

#include "graph/shapes/common_shapes.h"

namespace weir::shapes {
namespace {

using Ctx = InferenceContext;

// The positions of batch, rows, columns and channels in a shape of rank 4.
struct Layout {
  int batch = 0, rows = 1, columns = 2, channels = 3;
};

absl::StatusOr<Layout> ReadLayout(const InferenceContext& c) {
  std::string format = "NHWC";
  if (FindAttr(c.node(), "data_format") != nullptr) RETURN_IF_ERROR(c.GetAttr("data_format", &format));
  if (format == "NHWC") return Layout{};
  if (format == "NCHW") return Layout{0, 2, 3, 1};
  return errors::InvalidArgument("Unsupported data format '", format, "'; NHWC and NCHW are known");
}

int ChannelsAt(const Layout& layout, int rank) { return layout.channels == 1 ? 1 : rank - 1; }

// Four numbers, one per dimension; those of batch and channels must be 1 unless `any_batch`.
absl::StatusOr<std::vector<int64_t>> ReadWindow(const InferenceContext& c, absl::string_view attr, const Layout& layout,
                                                bool only_spatial) {
  std::vector<int64_t> window = {1, 1, 1, 1};
  if (FindAttr(c.node(), attr) != nullptr) RETURN_IF_ERROR(c.GetAttr(attr, &window));
  if (window.size() != 4) {
    return errors::InvalidArgument("attr '", attr, "' must have 4 values, but has ", window.size());
  }
  if (*std::min_element(window.begin(), window.end()) < 1) {
    return errors::InvalidArgument("attr '", attr, "' must have positive values");
  }
  if (only_spatial && (window[layout.batch] != 1 || window[layout.channels] != 1)) {
    return errors::InvalidArgument("attr '", attr, "' must be 1 in the batch and depth dimensions");
  }
  return window;
}

struct Padding {
  std::string kind;
  std::vector<int64_t> amounts = std::vector<int64_t>(8, 0);  // before and after, for each dimension
};

absl::StatusOr<Padding> ReadPadding(const InferenceContext& c, const Layout& layout) {
  Padding padding;
  RETURN_IF_ERROR(c.GetAttr("padding", &padding.kind));
  std::vector<int64_t> amounts;
  if (FindAttr(c.node(), "explicit_paddings") != nullptr) RETURN_IF_ERROR(c.GetAttr("explicit_paddings", &amounts));
  if (padding.kind != "EXPLICIT") {
    if (amounts.empty()) return padding;
    return errors::InvalidArgument(
        "explicit_paddings attribute must be empty if the padding attribute is not EXPLICIT");
  }
  if (amounts.size() != 8) {
    return errors::InvalidArgument("explicit_paddings attribute must contain 8 values, but got: ", amounts.size());
  }
  if (*std::min_element(amounts.begin(), amounts.end()) < 0) {
    return errors::InvalidArgument("All elements of explicit_paddings must be nonnegative");
  }
  for (int dim : {layout.batch, layout.channels}) {
    if (amounts[2 * dim] != 0 || amounts[2 * dim + 1] != 0) {
      return errors::InvalidArgument("Nonzero explicit padding in the batch or depth dimensions is not supported");
    }
  }
  padding.amounts = std::move(amounts);
  return padding;
}

// A convolution of rank 4; `depthwise` filters are [rows, columns, in, multiplier].
absl::Status Convolution(InferenceContext& c, bool depthwise) {
  ASSIGN_OR_RETURN(Layout layout, ReadLayout(c));
  ASSIGN_OR_RETURN(PartialTensorShape in, c.WithRank(c.input(0), 4));
  ASSIGN_OR_RETURN(PartialTensorShape filter, c.WithRank(c.input(1), 4));
  ASSIGN_OR_RETURN(std::vector<int64_t> strides, ReadWindow(c, "strides", layout, true));
  ASSIGN_OR_RETURN(std::vector<int64_t> dilations, ReadWindow(c, "dilations", layout, true));
  ASSIGN_OR_RETURN(Padding padding, ReadPadding(c, layout));
  const int64_t depth = in.dim_size(layout.channels), filter_depth = filter.dim_size(2);
  int64_t out_depth = filter.dim_size(3);
  if (depthwise) {
    ASSIGN_OR_RETURN(int64_t channels, c.MergeDim(depth, filter_depth));
    out_depth = channels < 0 || out_depth < 0 ? -1 : MultiplyWithoutOverflow(channels, out_depth);
  } else if (filter_depth == 0 || (depth > 0 && filter_depth > 0 && depth % filter_depth != 0)) {
    return errors::InvalidArgument("Depth of input (", depth, ") is not a multiple of input depth of filter (",
                                   filter_depth, ")");
  }
  DimVector out(4, -1);
  out[layout.batch] = in.dim_size(layout.batch);
  out[layout.channels] = out_depth;
  for (int axis : {0, 1}) {
    const int dim = axis == 0 ? layout.rows : layout.columns;
    ASSIGN_OR_RETURN(out[dim], WindowedSize(in.dim_size(dim), filter.dim_size(axis), strides[dim], dilations[dim],
                                            padding.kind, padding.amounts[2 * dim], padding.amounts[2 * dim + 1]));
  }
  ASSIGN_OR_RETURN(PartialTensorShape shape, PartialTensorShape::Build(out));
  c.set_output(0, shape);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int64_t> WindowedSize(int64_t in, int64_t filter, int64_t stride, int64_t dilation,
                                     absl::string_view padding, int64_t before, int64_t after) {
  if (stride < 1 || dilation < 1) return errors::InvalidArgument("Strides and dilations must be positive");
  if (in < 0 || filter < 0) return padding == "SAME" && in >= 0 ? (in + stride - 1) / stride : -1;
  if (padding == "SAME") return in / stride + (in % stride != 0 ? 1 : 0);
  if (padding != "VALID" && padding != "EXPLICIT") return errors::InvalidArgument("Unknown padding '", padding, "'");
  int64_t effective = 0, padded = in;
  if (filter > 0 &&
      (__builtin_mul_overflow(filter - 1, dilation, &effective) || __builtin_add_overflow(effective, 1, &effective))) {
    return errors::InvalidArgument("A filter of ", filter, " dilated by ", dilation, " is too large");
  }
  if (__builtin_add_overflow(padded, before, &padded) || __builtin_add_overflow(padded, after, &padded)) {
    return errors::InvalidArgument("Paddings ", before, " and ", after, " are too large");
  }
  if (padded < effective) {
    return errors::InvalidArgument("Negative dimension size caused by subtracting ", effective, " from ", padded);
  }
  return (padded - effective) / stride + 1;
}

absl::Status Conv2D(InferenceContext& c) { return Convolution(c, /*depthwise=*/false); }
absl::Status DepthwiseConv2D(InferenceContext& c) { return Convolution(c, /*depthwise=*/true); }

absl::Status Conv2DBackpropInput(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape out, c.InputAsShape(0));
  RETURN_IF_ERROR(c.WithRank(c.input(1), 4).status());
  ASSIGN_OR_RETURN(PartialTensorShape gradient, c.WithRank(c.input(2), 4));
  // Two sizes: rows and columns only.
  ASSIGN_OR_RETURN(out, out.dims() == 2 ? Ctx::UnknownOfRank(4) : c.WithRank(out, 4));
  if (out.dim_size(0) < 0) {  // the batch size is the gradient's
    ASSIGN_OR_RETURN(PartialTensorShape sizes, Ctx::Subshape(out, 1));
    out = Ctx::Concatenate(Ctx::Vector(gradient.dim_size(0)), sizes);
  }
  c.set_output(0, out);
  return absl::OkStatus();
}

absl::Status Conv2DBackpropFilter(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape out, c.InputAsShape(1));
  RETURN_IF_ERROR(c.WithRank(c.input(0), 4).status());
  RETURN_IF_ERROR(c.WithRank(c.input(2), 4).status());
  ASSIGN_OR_RETURN(out, c.WithRank(out, 4));
  c.set_output(0, out);
  return absl::OkStatus();
}

absl::Status Pool(InferenceContext& c) {
  ASSIGN_OR_RETURN(Layout layout, ReadLayout(c));
  ASSIGN_OR_RETURN(PartialTensorShape in, c.WithRank(c.input(0), 4));
  ASSIGN_OR_RETURN(std::vector<int64_t> window, ReadWindow(c, "ksize", layout, false));
  ASSIGN_OR_RETURN(std::vector<int64_t> strides, ReadWindow(c, "strides", layout, false));
  ASSIGN_OR_RETURN(Padding padding, ReadPadding(c, layout));
  DimVector out(4, -1);
  for (int dim = 0; dim < 4; ++dim) {
    if (window[dim] == 1 && dim == ChannelsAt(layout, 4)) {
      out[dim] = in.dim_size(dim);  // independent of the stride
      continue;
    }
    ASSIGN_OR_RETURN(out[dim], WindowedSize(in.dim_size(dim), window[dim], strides[dim], 1, padding.kind,
                                            padding.amounts[2 * dim], padding.amounts[2 * dim + 1]));
  }
  c.set_output(0, Ctx::Of(out));
  return absl::OkStatus();
}

absl::Status AvgPoolGrad(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape out, c.InputAsShape(0));
  ASSIGN_OR_RETURN(out, c.WithRank(out, 4));
  c.set_output(0, out);
  return absl::OkStatus();
}

absl::Status BiasAdd(InferenceContext& c) {
  ASSIGN_OR_RETURN(Layout layout, ReadLayout(c));
  ASSIGN_OR_RETURN(PartialTensorShape in, c.WithRankAtLeast(c.input(0), 2));
  ASSIGN_OR_RETURN(PartialTensorShape bias, c.WithRank(c.input(1), 1));
  c.set_output(0, in);
  if (in.unknown_rank()) return absl::OkStatus();
  DimVector dims(in.dim_sizes().begin(), in.dim_sizes().end());
  int64_t& channels = dims[ChannelsAt(layout, in.dims())];
  ASSIGN_OR_RETURN(channels, c.MergeDim(channels, bias.dim_size(0)));
  c.set_output(0, Ctx::Of(dims));
  return absl::OkStatus();
}

absl::Status BiasAddGrad(InferenceContext& c) {
  ASSIGN_OR_RETURN(Layout layout, ReadLayout(c));
  ASSIGN_OR_RETURN(PartialTensorShape in, c.WithRankAtLeast(c.input(0), 2));
  c.set_output(0, Ctx::Vector(in.unknown_rank() ? -1 : in.dim_size(ChannelsAt(layout, in.dims()))));
  return absl::OkStatus();
}

absl::Status Softmax(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape in, c.WithRankAtLeast(c.input(0), 1));
  c.set_output(0, in);
  return absl::OkStatus();
}

absl::Status SoftmaxCrossEntropy(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape both, Broadcast(c.input(0), c.input(1)));
  ASSIGN_OR_RETURN(both, c.WithRank(both, 2));
  c.set_output(0, Ctx::Vector(both.dim_size(0)));
  c.set_output(1, both);
  return absl::OkStatus();
}

absl::Status SparseSoftmaxCrossEntropy(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape features, c.WithRank(c.input(0), 2));
  ASSIGN_OR_RETURN(PartialTensorShape labels, c.WithRank(c.input(1), 1));
  ASSIGN_OR_RETURN(int64_t batch, c.MergeDim(features.dim_size(0), labels.dim_size(0)));
  c.set_output(0, Ctx::Vector(batch));
  c.set_output(1, Ctx::Matrix(batch, features.dim_size(1)));
  return absl::OkStatus();
}

absl::Status FusedBatchNorm(InferenceContext& c) {
  ASSIGN_OR_RETURN(Layout layout, ReadLayout(c));
  ASSIGN_OR_RETURN(PartialTensorShape x, c.WithRank(c.input(0), 4));
  int64_t channels = x.dim_size(layout.channels);
  bool is_training = true;
  RETURN_IF_ERROR(c.GetAttr("is_training", &is_training));
  for (int i = 1; i < (is_training ? 3 : 5); ++i) {
    ASSIGN_OR_RETURN(PartialTensorShape vector, c.WithRank(c.input(i), 1));
    ASSIGN_OR_RETURN(channels, c.MergeDim(channels, vector.dim_size(0)));
  }
  DimVector dims(x.dim_sizes().begin(), x.dim_sizes().end());
  dims[layout.channels] = channels;
  c.set_output(0, Ctx::Of(dims));
  for (int i = 1; i < c.num_outputs(); ++i) c.set_output(i, i < 5 ? Ctx::Vector(channels) : PartialTensorShape());
  return absl::OkStatus();
}

absl::Status FusedBatchNormGrad(InferenceContext& c) {
  ASSIGN_OR_RETURN(Layout layout, ReadLayout(c));
  ASSIGN_OR_RETURN(PartialTensorShape gradient, c.WithRank(c.input(0), 4));
  ASSIGN_OR_RETURN(PartialTensorShape x, c.WithRank(c.input(1), 4));
  ASSIGN_OR_RETURN(x, c.Merge(x, gradient));
  const int64_t channels = x.dim_size(layout.channels);
  c.set_output(0, x);
  for (int i : {1, 2}) c.set_output(i, Ctx::Vector(channels));
  for (int i : {3, 4}) c.set_output(i, Ctx::Vector(0));
  return absl::OkStatus();
}

absl::Status TopK(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape in, c.WithRankAtLeast(c.input(0), 1));
  int64_t k = -1;
  if (c.num_inputs() > 1) {
    ASSIGN_OR_RETURN(k, c.InputAsScalar(1));
  } else {
    RETURN_IF_ERROR(c.GetAttr("k", &k));
  }
  const int64_t last = Ctx::Dim(in, -1);
  if (last >= 0 && k > last) {
    return errors::InvalidArgument("input must have last dimension >= k = ", k, " but is ", last);
  }
  if (in.unknown_rank()) return absl::OkStatus();
  DimVector dims(in.dim_sizes().begin(), in.dim_sizes().end());
  dims.back() = k;
  for (int i : {0, 1}) c.set_output(i, Ctx::Of(dims));
  return absl::OkStatus();
}

absl::Status InTopK(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape predictions, c.WithRank(c.input(0), 2));
  ASSIGN_OR_RETURN(PartialTensorShape targets, c.WithRank(c.input(1), 1));
  ASSIGN_OR_RETURN(int64_t batch, c.MergeDim(predictions.dim_size(0), targets.dim_size(0)));
  c.set_output(0, Ctx::Vector(batch));
  return absl::OkStatus();
}

}  // namespace weir::shapes
