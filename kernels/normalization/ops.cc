// Batch normalisation and local response normalisation.
#include "core/op/attr_value.h"
#include "graph/shapes/common_shapes.h"
#include "graph/shapes/shape_inference.h"
#include "kernels/normalization/family.h"

namespace weir {
namespace {

bool HasDepth(const InferenceContext& c) {
  std::string format;
  return c.GetAttr("data_format", &format).ok() && format.size() == 5;  // NDHWC, NCDHW
}

absl::Status BatchNormV3Shape(InferenceContext& c) {
  if (!HasDepth(c)) return shapes::FusedBatchNorm(c);
  ASSIGN_OR_RETURN(PartialTensorShape x, c.WithRank(c.input(0), 5));
  c.set_output(0, std::move(x));
  for (int i = 1; i < 5; ++i) c.set_output(i, c.input(1));
  return absl::OkStatus();
}

absl::Status BatchNormGradV3Shape(InferenceContext& c) {
  if (!HasDepth(c)) return shapes::FusedBatchNormGrad(c);
  ASSIGN_OR_RETURN(PartialTensorShape x, c.WithRank(c.input(1), 5));
  c.set_output(0, std::move(x));
  for (int i : {1, 2}) c.set_output(i, c.input(2));
  for (int i : {3, 4}) c.set_output(i, c.Vector(0));
  return absl::OkStatus();
}

absl::Status LrnShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape shape, c.WithRank(c.input(0), 4));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

absl::Status LrnGradShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.WithRank(c.input(0), 4).status());
  return shapes::MergeAll(c);
}

}  // namespace

absl::Status RegisterNormalizationOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("FusedBatchNorm")
                                   .Input("x: T")
                                   .Input("scale: T")
                                   .Input("offset: T")
                                   .Input("mean: T")
                                   .Input("variance: T")
                                   .Output("y: T")
                                   .Output("batch_mean: T")
                                   .Output("batch_variance: T")
                                   .Output("reserve_space_1: T")
                                   .Output("reserve_space_2: T")
                                   .Attr("T: {float}")
                                   .Attr("epsilon: float = 9.999999747378752e-05")
                                   .Attr("exponential_avg_factor: float = 1.0")
                                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                                   .Attr("is_training: bool = true")
                                   .Shape(shapes::FusedBatchNorm)));
  RETURN_IF_ERROR(ops.Register(Op("FusedBatchNormV2")
                                   .Input("x: T")
                                   .Input("scale: U")
                                   .Input("offset: U")
                                   .Input("mean: U")
                                   .Input("variance: U")
                                   .Output("y: T")
                                   .Output("batch_mean: U")
                                   .Output("batch_variance: U")
                                   .Output("reserve_space_1: U")
                                   .Output("reserve_space_2: U")
                                   .Attr("T: {half, bfloat16, float}")
                                   .Attr("U: {float}")
                                   .Attr("epsilon: float = 9.999999747378752e-05")
                                   .Attr("exponential_avg_factor: float = 1.0")
                                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                                   .Attr("is_training: bool = true")
                                   .Shape(shapes::FusedBatchNorm)));
  RETURN_IF_ERROR(ops.Register(Op("FusedBatchNormV3")
                                   .Input("x: T")
                                   .Input("scale: U")
                                   .Input("offset: U")
                                   .Input("mean: U")
                                   .Input("variance: U")
                                   .Output("y: T")
                                   .Output("batch_mean: U")
                                   .Output("batch_variance: U")
                                   .Output("reserve_space_1: U")
                                   .Output("reserve_space_2: U")
                                   .Output("reserve_space_3: U")
                                   .Attr("T: {half, bfloat16, float}")
                                   .Attr("U: {bfloat16, float}")
                                   .Attr("epsilon: float = 9.999999747378752e-05")
                                   .Attr("exponential_avg_factor: float = 1.0")
                                   .Attr("data_format: {'NHWC', 'NCHW', 'NDHWC', 'NCDHW'} = 'NHWC'")
                                   .Attr("is_training: bool = true")
                                   .Shape(BatchNormV3Shape)));
  RETURN_IF_ERROR(ops.Register(Op("FusedBatchNormGrad")
                                   .Input("y_backprop: T")
                                   .Input("x: T")
                                   .Input("scale: T")
                                   .Input("reserve_space_1: T")
                                   .Input("reserve_space_2: T")
                                   .Output("x_backprop: T")
                                   .Output("scale_backprop: T")
                                   .Output("offset_backprop: T")
                                   .Output("reserve_space_3: T")
                                   .Output("reserve_space_4: T")
                                   .Attr("T: {float}")
                                   .Attr("epsilon: float = 9.999999747378752e-05")
                                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                                   .Attr("is_training: bool = true")
                                   .Shape(shapes::FusedBatchNormGrad)));
  RETURN_IF_ERROR(ops.Register(Op("FusedBatchNormGradV2")
                                   .Input("y_backprop: T")
                                   .Input("x: T")
                                   .Input("scale: float")
                                   .Input("reserve_space_1: U")
                                   .Input("reserve_space_2: U")
                                   .Output("x_backprop: T")
                                   .Output("scale_backprop: U")
                                   .Output("offset_backprop: U")
                                   .Output("reserve_space_3: U")
                                   .Output("reserve_space_4: U")
                                   .Attr("T: {half, bfloat16, float}")
                                   .Attr("U: {float}")
                                   .Attr("epsilon: float = 9.999999747378752e-05")
                                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                                   .Attr("is_training: bool = true")
                                   .Shape(shapes::FusedBatchNormGrad)));
  RETURN_IF_ERROR(ops.Register(Op("FusedBatchNormGradV3")
                                   .Input("y_backprop: T")
                                   .Input("x: T")
                                   .Input("scale: float")
                                   .Input("reserve_space_1: U")
                                   .Input("reserve_space_2: U")
                                   .Input("reserve_space_3: U")
                                   .Output("x_backprop: T")
                                   .Output("scale_backprop: U")
                                   .Output("offset_backprop: U")
                                   .Output("reserve_space_4: U")
                                   .Output("reserve_space_5: U")
                                   .Attr("T: {half, bfloat16, float}")
                                   .Attr("U: {float}")
                                   .Attr("epsilon: float = 9.999999747378752e-05")
                                   .Attr("data_format: {'NHWC', 'NCHW', 'NDHWC', 'NCDHW'} = 'NHWC'")
                                   .Attr("is_training: bool = true")
                                   .Shape(BatchNormGradV3Shape)));
  RETURN_IF_ERROR(ops.Register(Op("LRN")
                                   .Input("input: T")
                                   .Output("output: T")
                                   .Attr("depth_radius: int = 5")
                                   .Attr("bias: float = 1.0")
                                   .Attr("alpha: float = 1.0")
                                   .Attr("beta: float = 0.5")
                                   .Attr("T: {half, bfloat16, float} = DT_FLOAT")
                                   .Shape(LrnShape)));
  RETURN_IF_ERROR(ops.Register(Op("LRNGrad")
                                   .Input("input_grads: T")
                                   .Input("input_image: T")
                                   .Input("output_image: T")
                                   .Output("output: T")
                                   .Attr("depth_radius: int = 5")
                                   .Attr("bias: float = 1.0")
                                   .Attr("alpha: float = 1.0")
                                   .Attr("beta: float = 0.5")
                                   .Attr("T: {half, bfloat16, float} = DT_FLOAT")
                                   .Shape(LrnGradShape)));
  return absl::OkStatus();
}

}  // namespace weir
