// Convolutions of images that are resized or padded first.
#include "graph/shapes/common_shapes.h"
#include "kernels/convolution/family.h"
#include "kernels/image/image_shapes.h"

namespace weir {
namespace {

using op_shapes::kUnknown;

// Resizing where a size is given, mirrored edges, then a convolution.
absl::Status FusedPadConvolutionShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape image, c.WithRank(c.input(0), 4));
  ASSIGN_OR_RETURN(PartialTensorShape filter, c.WithRank(c.input(c.num_inputs() - 1), 4));
  ASSIGN_OR_RETURN(PartialTensorShape paddings, c.WithRank(c.input(c.num_inputs() - 2), 2));
  RETURN_IF_ERROR(c.MergeDim(c.Dim(paddings, 0), 4).status());
  RETURN_IF_ERROR(c.MergeDim(c.Dim(paddings, 1), 2).status());
  RETURN_IF_ERROR(c.MergeDim(c.Dim(image, 3), c.Dim(filter, 2)).status());
  std::pair<int64_t, int64_t> size = {c.Dim(image, 1), c.Dim(image, 2)};
  if (c.num_inputs() == 4) {
    ASSIGN_OR_RETURN(size, image_shapes::SizeInput(c, 1));
  }
  std::vector<int64_t> strides;
  std::string padding;
  RETURN_IF_ERROR(c.GetAttr("strides", &strides));
  RETURN_IF_ERROR(c.GetAttr("padding", &padding));
  if (strides.size() != 4)
    return errors::InvalidArgument("Operation requires the stride attribute to contain 4 values");
  const auto amounts = op_shapes::ConstantVector(c, c.num_inputs() - 2);
  int64_t out[2] = {kUnknown, kUnknown};
  for (int i : {0, 1}) {
    int64_t in = i == 0 ? size.first : size.second;
    if (!amounts || amounts->size() != 8) continue;
    ASSIGN_OR_RETURN(in, op_shapes::AddDims(in, (*amounts)[2 + 2 * i]));
    ASSIGN_OR_RETURN(in, op_shapes::AddDims(in, (*amounts)[3 + 2 * i]));
    ASSIGN_OR_RETURN(out[i], shapes::WindowedSize(in, c.Dim(filter, i), strides[1 + i], 1, padding));
  }
  c.set_output(0, c.Of({c.Dim(image, 0), out[0], out[1], c.Dim(filter, 3)}));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterFusedPadConvolutionOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("FusedPadConv2D")
                                   .Input("input: T")
                                   .Input("paddings: int32")
                                   .Input("filter: T")
                                   .Output("output: T")
                                   .Attr("T: {half, bfloat16, float, double}")
                                   .Attr("mode: {'REFLECT', 'SYMMETRIC'}")
                                   .Attr("strides: list(int)")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Shape(FusedPadConvolutionShape)));
  RETURN_IF_ERROR(ops.Register(Op("FusedResizeAndPadConv2D")
                                   .Input("input: T")
                                   .Input("size: int32")
                                   .Input("paddings: int32")
                                   .Input("filter: T")
                                   .Output("output: T")
                                   .Attr("T: {half, float, double}")
                                   .Attr("resize_align_corners: bool = false")
                                   .Attr("mode: {'REFLECT', 'SYMMETRIC'}")
                                   .Attr("strides: list(int)")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Shape(FusedPadConvolutionShape)));
  return absl::OkStatus();
}

}  // namespace weir
