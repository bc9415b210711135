// Normalisations that TensorFlow's optimizer makes. A worker expands those that its device has no kernel for
// (graph/fused/expand_fused_ops.h).
#include "graph/shapes/common_shapes.h"
#include "kernels/normalization/family.h"

namespace weir {

absl::Status RegisterFusedNormalizationOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("_FusedBatchNormEx")
                                   .Input("x: T")
                                   .Input("scale: U")
                                   .Input("offset: U")
                                   .Input("mean: U")
                                   .Input("variance: U")
                                   .Input("side_input: num_side_inputs * T")
                                   .Output("y: T")
                                   .Output("batch_mean: U")
                                   .Output("batch_variance: U")
                                   .Output("reserve_space_1: U")
                                   .Output("reserve_space_2: U")
                                   .Output("reserve_space_3: U")
                                   .Attr("T: {half, float, bfloat16}")
                                   .Attr("U: {float}")
                                   .Attr("epsilon: float = 0.0001")
                                   .Attr("exponential_avg_factor: float = 1.0")
                                   .Attr("num_side_inputs: int >= 0 = 0")
                                   .Attr("activation_mode: string = 'Identity'")
                                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                                   .Attr("is_training: bool = true")
                                   .Shape(shapes::Unknown)));
  RETURN_IF_ERROR(ops.Register(Op("_FusedBatchNormGradEx")
                                   .Input("y_backprop: T")
                                   .Input("x: T")
                                   .Input("scale: float")
                                   .Input("reserve_space_1: U")
                                   .Input("reserve_space_2: U")
                                   .Input("reserve_space_3: U")
                                   .Input("offset: float")
                                   .Input("y: T")
                                   .Output("x_backprop: T")
                                   .Output("scale_backprop: U")
                                   .Output("offset_backprop: U")
                                   .Output("reserve_space_4: U")
                                   .Output("reserve_space_5: U")
                                   .Output("side_input_backprop: num_side_inputs * T")
                                   .Attr("T: {half, float}")
                                   .Attr("U: {float}")
                                   .Attr("epsilon: float = 0.0001")
                                   .Attr("num_side_inputs: int >= 0 = 0")
                                   .Attr("activation_mode: string = 'Identity'")
                                   .Attr("data_format: {'NHWC', 'NCHW', 'NDHWC', 'NCDHW'} = 'NHWC'")
                                   .Attr("is_training: bool = true")
                                   .Shape(shapes::Unknown)));
  RETURN_IF_ERROR(ops.Register(Op("_MklFusedInstanceNorm")
                                   .Input("x: T")
                                   .Input("gamma: T")
                                   .Input("beta: T")
                                   .Output("y: T")
                                   .Attr("T: {float, bfloat16, half}")
                                   .Attr("fused_ops: list(string) = []")
                                   .Attr("epsilon: float = 0.0001")
                                   .Attr("leakyrelu_alpha: float = 0.2")
                                   .Attr("reduction_axes: list(int)")
                                   .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("_MklLayerNorm")
                                   .Input("x: T")
                                   .Input("scale: T")
                                   .Input("offset: T")
                                   .Output("y: T")
                                   .Attr("T: {float, bfloat16, half}")
                                   .Attr("epsilon: float = 0.001")
                                   .Shape(shapes::Unchanged)));
  return absl::OkStatus();
}

}  // namespace weir
