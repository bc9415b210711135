// Grey-scale dilation.
#include "graph/shapes/common_shapes.h"
#include "kernels/convolution/window_shapes.h"
#include "kernels/pooling/family.h"

namespace weir {
namespace {

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

absl::Status RegisterDilationOps(OpRegistry& ops) {
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
                                   .Shape((WindowedLikeInput<1, 3>))));
  return absl::OkStatus();
}

}  // namespace weir
