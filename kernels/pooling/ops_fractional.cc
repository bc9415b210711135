// Pooling over regions of unequal size.
#include <cmath>

#include "kernels/device/op_shapes.h"
#include "kernels/pooling/family.h"

namespace weir {
namespace {

using op_shapes::kUnknown;

absl::Status FractionalPoolShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape input, c.WithRank(c.input(0), 4));
  std::vector<float> ratio;
  RETURN_IF_ERROR(c.GetAttr("pooling_ratio", &ratio));
  if (ratio.size() != 4) {
    return errors::InvalidArgument("pooling_ratio field must specify 4 dimensions, got ", ratio.size());
  }
  DimVector dims;
  for (int d = 0; d < 4; ++d) {
    const int64_t size = c.Dim(input, d);
    if (!(ratio[d] >= 1)) return errors::InvalidArgument("pooling_ratio cannot be smaller than 1, got: ", ratio[d]);
    dims.push_back(size == kUnknown ? kUnknown : static_cast<int64_t>(std::floor(static_cast<float>(size) / ratio[d])));
  }
  c.set_output(0, c.Of(dims));
  for (int i : {1, 2}) c.set_output(i, c.Vector(dims[i]));
  return absl::OkStatus();
}

absl::Status FractionalMaxGradShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape input, c.WithRank(c.input(0), 4));
  c.set_output(0, std::move(input));
  return absl::OkStatus();
}

absl::Status FractionalAvgGradShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape shape, c.InputAsShape(0));
  c.set_output(0, shape.unknown_rank() ? c.UnknownOfRank(4) : shape);
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterFractionalPoolingOps(OpRegistry& ops) {
  for (const char* name : {"FractionalMaxPool", "FractionalAvgPool"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("value: T")
                                     .Output("output: T")
                                     .Output("row_pooling_sequence: int64")
                                     .Output("col_pooling_sequence: int64")
                                     .Attr("pooling_ratio: list(float) >= 4")
                                     .Attr("pseudo_random: bool = false")
                                     .Attr("overlapping: bool = false")
                                     .Attr("deterministic: bool = false")
                                     .Attr("seed: int = 0")
                                     .Attr("seed2: int = 0")
                                     .Attr("T: {float, double, int32, int64}")
                                     .Shape(FractionalPoolShape)));
  }
  RETURN_IF_ERROR(ops.Register(Op("FractionalMaxPoolGrad")
                                   .Input("orig_input: T")
                                   .Input("orig_output: T")
                                   .Input("out_backprop: T")
                                   .Input("row_pooling_sequence: int64")
                                   .Input("col_pooling_sequence: int64")
                                   .Output("output: T")
                                   .Attr("overlapping: bool = false")
                                   .Attr("T: {float, double, int32, int64}")
                                   .Shape(FractionalMaxGradShape)));
  RETURN_IF_ERROR(ops.Register(Op("FractionalAvgPoolGrad")
                                   .Input("orig_input_tensor_shape: int64")
                                   .Input("out_backprop: T")
                                   .Input("row_pooling_sequence: int64")
                                   .Input("col_pooling_sequence: int64")
                                   .Output("output: T")
                                   .Attr("overlapping: bool = false")
                                   .Attr("T: {float, double, int32, int64}")
                                   .Shape(FractionalAvgGradShape)));
  return absl::OkStatus();
}

}  // namespace weir
