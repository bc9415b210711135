// Windows over three dimensions, and forms of pooling that only training needs.
#include "graph/common_shapes.h"
#include "kernels/convolution/family.h"
#include "kernels/device/op_shapes.h"

namespace weir {
namespace {

using op_shapes::kUnknown;

// Where the spatial dimensions and channels of a layout stand.
struct Layout {
  int rank = 0, spatial = 0, channel = 0;
};
absl::StatusOr<Layout> ReadLayout(InferenceContext& c, const std::vector<int64_t>& strides) {
  std::string format;
  if (!c.GetAttr("data_format", &format).ok()) format = "";
  const bool first = format == "CHANNELS_FIRST" || (format.size() >= 4 && format.substr(0, 2) == "NC");
  const int rank = static_cast<int>(strides.size());
  return Layout{rank, first ? 2 : 1, first ? 1 : rank - 1};
}

absl::Status WindowedShape(InferenceContext& c, const std::vector<int64_t>& window, bool filter) {
  std::vector<int64_t> strides, dilations, explicit_paddings;
  std::string padding;
  RETURN_IF_ERROR(c.GetAttr("strides", &strides));
  RETURN_IF_ERROR(c.GetAttr("padding", &padding));
  if (!c.GetAttr("dilations", &dilations).ok() || dilations.empty()) dilations.assign(strides.size(), 1);
  ASSIGN_OR_RETURN(const Layout layout, ReadLayout(c, strides));
  if (dilations.size() != strides.size() || layout.rank < 3) {
    return errors::InvalidArgument("strides and dilations must have the same length, got ", strides.size(), " and ",
                                   dilations.size());
  }
  ASSIGN_OR_RETURN(PartialTensorShape in, c.WithRank(c.input(0), layout.rank));
  const bool explicit_given = padding == "EXPLICIT" && c.GetAttr("explicit_paddings", &explicit_paddings).ok() &&
                              explicit_paddings.size() == 2 * strides.size();
  if (padding == "EXPLICIT" && !explicit_given) {
    return errors::InvalidArgument("explicit_paddings must have ", 2 * strides.size(), " values");
  }
  DimVector out(layout.rank, kUnknown);
  out[0] = in.dim_size(0);
  out[layout.channel] = in.dim_size(layout.channel);
  if (filter) {
    ASSIGN_OR_RETURN(PartialTensorShape shape, c.WithRank(c.input(1), layout.rank));
    out[layout.channel] = shape.dim_size(layout.rank - 1);
  }
  for (int i = 0; i < layout.rank - 2; ++i) {
    const int d = layout.spatial + i;
    const int64_t size = filter ? c.input(1).unknown_rank() ? kUnknown : c.input(1).dim_size(i) : window[d];
    ASSIGN_OR_RETURN(out[d], shapes::WindowedSize(in.dim_size(d), size, strides[d], dilations[d], padding,
                                                  explicit_given ? explicit_paddings[2 * d] : 0,
                                                  explicit_given ? explicit_paddings[2 * d + 1] : 0));
  }
  c.set_output(0, c.Of(out));
  return absl::OkStatus();
}

absl::Status ConvolutionShape(InferenceContext& c) { return WindowedShape(c, {}, true); }
absl::Status PoolShape(InferenceContext& c) {
  std::vector<int64_t> ksize, strides;
  RETURN_IF_ERROR(c.GetAttr("ksize", &ksize));
  RETURN_IF_ERROR(c.GetAttr("strides", &strides));
  if (ksize.size() != strides.size()) {
    return errors::InvalidArgument("ksize and strides must have the same length, got ", ksize.size(), " and ",
                                   strides.size());
  }
  return WindowedShape(c, ksize, false);
}
absl::Status ArgmaxShape(InferenceContext& c) {
  RETURN_IF_ERROR(PoolShape(c));
  c.set_output(1, c.output(0));
  return absl::OkStatus();
}

template <int kInput>
absl::Status ValueShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape shape, c.InputAsShape(kInput));
  if (shape.unknown_rank()) shape = c.UnknownOfRank(5);
  ASSIGN_OR_RETURN(shape, c.WithRank(shape, 5));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}
template <int kInput, int kRank>
absl::Status LikeInput(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape shape, c.WithRank(c.input(kInput), kRank));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

absl::Status DilationShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape in, c.WithRank(c.input(0), 4));
  ASSIGN_OR_RETURN(PartialTensorShape filter, c.WithRank(c.input(1), 3));
  ASSIGN_OR_RETURN(const int64_t depth, c.MergeDim(c.Dim(in, 3), c.Dim(filter, 2)));
  std::vector<int64_t> strides, rates;
  std::string padding;
  RETURN_IF_ERROR(c.GetAttr("strides", &strides));
  RETURN_IF_ERROR(c.GetAttr("rates", &rates));
  RETURN_IF_ERROR(c.GetAttr("padding", &padding));
  if (strides.size() != 4 || rates.size() != 4) {
    return errors::InvalidArgument("Dilation2D requires strides and rates of 4 values, got ", strides.size(), " and ",
                                   rates.size());
  }
  int64_t sizes[2];
  for (int i : {0, 1}) {
    ASSIGN_OR_RETURN(sizes[i],
                     shapes::WindowedSize(c.Dim(in, 1 + i), c.Dim(filter, i), strides[1 + i], rates[1 + i], padding));
  }
  c.set_output(0, c.Of({c.Dim(in, 0), sizes[0], sizes[1], depth}));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterVolumeOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("Conv3D")
                                   .Input("input: T")
                                   .Input("filter: T")
                                   .Output("output: T")
                                   .Attr("T: {half, bfloat16, float, double}")
                                   .Attr("strides: list(int) >= 5")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Attr("data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'")
                                   .Attr("dilations: list(int) = [1, 1, 1, 1, 1]")
                                   .Shape(ConvolutionShape)));
  RETURN_IF_ERROR(ops.Register(Op("Conv")
                                   .Input("input: T")
                                   .Input("filter: T")
                                   .Output("output: T")
                                   .Attr("T: {half, bfloat16, float, double, int32}")
                                   .Attr("strides: list(int)")
                                   .Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}")
                                   .Attr("explicit_paddings: list(int) = []")
                                   .Attr("data_format: {'CHANNELS_FIRST', 'CHANNELS_LAST'} = 'CHANNELS_LAST'")
                                   .Attr("dilations: list(int) = []")
                                   .Attr("batch_dims: int = 1")
                                   .Attr("groups: int = 1")
                                   .Shape(ConvolutionShape)));
  RETURN_IF_ERROR(ops.Register(Op("Conv3DBackpropInput")
                                   .Input("input: T")
                                   .Input("filter: T")
                                   .Input("out_backprop: T")
                                   .Output("output: T")
                                   .Attr("T: {half, float, double}")
                                   .Attr("strides: list(int) >= 5")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Attr("dilations: list(int) = [1, 1, 1, 1, 1]")
                                   .Deprecated(10, "Use Conv3DBackpropInputV2")
                                   .Shape((LikeInput<0, 5>))));
  RETURN_IF_ERROR(ops.Register(Op("Conv3DBackpropFilter")
                                   .Input("input: T")
                                   .Input("filter: T")
                                   .Input("out_backprop: T")
                                   .Output("output: T")
                                   .Attr("T: {half, float, double}")
                                   .Attr("strides: list(int) >= 5")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Attr("dilations: list(int) = [1, 1, 1, 1, 1]")
                                   .Deprecated(10, "Use Conv3DBackpropFilterV2")
                                   .Shape((LikeInput<1, 5>))));
  RETURN_IF_ERROR(ops.Register(Op("Conv3DBackpropInputV2")
                                   .Input("input_sizes: Tshape")
                                   .Input("filter: T")
                                   .Input("out_backprop: T")
                                   .Output("output: T")
                                   .Attr("T: {half, bfloat16, float, double}")
                                   .Attr("strides: list(int) >= 5")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Attr("data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'")
                                   .Attr("dilations: list(int) = [1, 1, 1, 1, 1]")
                                   .Attr("Tshape: {int32, int64} = DT_INT32")
                                   .Shape(ValueShape<0>)));
  RETURN_IF_ERROR(ops.Register(Op("Conv3DBackpropFilterV2")
                                   .Input("input: T")
                                   .Input("filter_sizes: int32")
                                   .Input("out_backprop: T")
                                   .Output("output: T")
                                   .Attr("T: {half, bfloat16, float, double}")
                                   .Attr("strides: list(int) >= 5")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Attr("data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'")
                                   .Attr("dilations: list(int) = [1, 1, 1, 1, 1]")
                                   .Shape(ValueShape<1>)));
  RETURN_IF_ERROR(ops.Register(Op("AvgPool3D")
                                   .Input("input: T")
                                   .Output("output: T")
                                   .Attr("ksize: list(int) >= 5")
                                   .Attr("strides: list(int) >= 5")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Attr("data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'")
                                   .Attr("T: {half, bfloat16, float, double}")
                                   .Shape(PoolShape)));
  RETURN_IF_ERROR(ops.Register(Op("MaxPool3D")
                                   .Input("input: T")
                                   .Output("output: T")
                                   .Attr("ksize: list(int) >= 5")
                                   .Attr("strides: list(int) >= 5")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Attr("data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'")
                                   .Attr("T: {half, bfloat16, float}")
                                   .Shape(PoolShape)));
  RETURN_IF_ERROR(ops.Register(Op("AvgPool3DGrad")
                                   .Input("orig_input_shape: int32")
                                   .Input("grad: T")
                                   .Output("output: T")
                                   .Attr("ksize: list(int) >= 5")
                                   .Attr("strides: list(int) >= 5")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Attr("data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'")
                                   .Attr("T: {half, bfloat16, float, double}")
                                   .Shape(ValueShape<0>)));
  RETURN_IF_ERROR(ops.Register(Op("MaxPool3DGrad")
                                   .Input("orig_input: TInput")
                                   .Input("orig_output: TInput")
                                   .Input("grad: T")
                                   .Output("output: T")
                                   .Attr("ksize: list(int) >= 5")
                                   .Attr("strides: list(int) >= 5")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Attr("data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'")
                                   .Attr("T: {half, bfloat16, float} = DT_FLOAT")
                                   .Attr("TInput: {half, bfloat16, float} = DT_FLOAT")
                                   .Shape((LikeInput<0, 5>))));
  RETURN_IF_ERROR(ops.Register(Op("MaxPool3DGradGrad")
                                   .Input("orig_input: T")
                                   .Input("orig_output: T")
                                   .Input("grad: T")
                                   .Output("output: T")
                                   .Attr("ksize: list(int) >= 5")
                                   .Attr("strides: list(int) >= 5")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Attr("data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'")
                                   .Attr("T: realnumbertype")
                                   .Shape((LikeInput<1, 5>))));
  RETURN_IF_ERROR(ops.Register(Op("MaxPoolGradGrad")
                                   .Input("orig_input: T")
                                   .Input("orig_output: T")
                                   .Input("grad: T")
                                   .Output("output: T")
                                   .Attr("ksize: list(int) >= 4")
                                   .Attr("strides: list(int) >= 4")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                                   .Attr("T: realnumbertype")
                                   .Shape((LikeInput<1, 4>))));
  RETURN_IF_ERROR(ops.Register(Op("MaxPoolGradGradV2")
                                   .Input("orig_input: T")
                                   .Input("orig_output: T")
                                   .Input("grad: T")
                                   .Input("ksize: int32")
                                   .Input("strides: int32")
                                   .Output("output: T")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                                   .Attr("T: realnumbertype")
                                   .Shape((LikeInput<1, 4>))));
  RETURN_IF_ERROR(ops.Register(Op("MaxPoolWithArgmax")
                                   .Input("input: T")
                                   .Output("output: T")
                                   .Output("argmax: Targmax")
                                   .Attr("ksize: list(int) >= 4")
                                   .Attr("strides: list(int) >= 4")
                                   .Attr("Targmax: {int32, int64} = DT_INT64")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Attr("include_batch_in_index: bool = false")
                                   .Attr("T: realnumbertype")
                                   .Shape(ArgmaxShape)));
  RETURN_IF_ERROR(ops.Register(Op("MaxPoolGradWithArgmax")
                                   .Input("input: T")
                                   .Input("grad: T")
                                   .Input("argmax: Targmax")
                                   .Output("output: T")
                                   .Attr("ksize: list(int) >= 4")
                                   .Attr("strides: list(int) >= 4")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Attr("include_batch_in_index: bool = false")
                                   .Attr("Targmax: {int32, int64}")
                                   .Attr("T: realnumbertype")
                                   .Shape((LikeInput<0, 4>))));
  RETURN_IF_ERROR(ops.Register(Op("MaxPoolGradGradWithArgmax")
                                   .Input("input: T")
                                   .Input("grad: T")
                                   .Input("argmax: Targmax")
                                   .Output("output: T")
                                   .Attr("ksize: list(int) >= 4")
                                   .Attr("strides: list(int) >= 4")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Attr("include_batch_in_index: bool = false")
                                   .Attr("Targmax: {int32, int64}")
                                   .Attr("T: realnumbertype")
                                   .Shape((LikeInput<2, 4>))));
  RETURN_IF_ERROR(ops.Register(Op("Dilation2D")
                                   .Input("input: T")
                                   .Input("filter: T")
                                   .Output("output: T")
                                   .Attr("T: realnumbertype")
                                   .Attr("strides: list(int) >= 4")
                                   .Attr("rates: list(int) >= 4")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Shape(DilationShape)));
  RETURN_IF_ERROR(ops.Register(Op("Dilation2DBackpropInput")
                                   .Input("input: T")
                                   .Input("filter: T")
                                   .Input("out_backprop: T")
                                   .Output("in_backprop: T")
                                   .Attr("T: realnumbertype")
                                   .Attr("strides: list(int) >= 4")
                                   .Attr("rates: list(int) >= 4")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("Dilation2DBackpropFilter")
                                   .Input("input: T")
                                   .Input("filter: T")
                                   .Input("out_backprop: T")
                                   .Output("filter_backprop: T")
                                   .Attr("T: realnumbertype")
                                   .Attr("strides: list(int) >= 4")
                                   .Attr("rates: list(int) >= 4")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Shape((LikeInput<1, 3>))));
  return absl::OkStatus();
}

}  // namespace weir
