// Ops that TensorFlow's optimizer puts in the place of several, beside those of fused_ops.cc. Where a
// device has no kernel for one its worker expands it (graph/fused/expand_fused_ops.h).
#include "graph/common_shapes.h"
#include "kernels/fusion/family.h"

namespace weir {
namespace {

constexpr char kNarrowFloats[] = "T: {bfloat16, float, half}";

Op WithSteps(Op op) {
  return op.Attr("fused_ops: list(string) = []").Attr("epsilon: float = 0.0001").Attr("leakyrelu_alpha: float = 0.2");
}

absl::Status RegisterFusedBatchMatMul(OpRegistry& ops) {
  return ops.Register(WithSteps(Op("_MklFusedBatchMatMulV2")
                                    .Input("x: T")
                                    .Input("y: T")
                                    .Input("args: num_args * T")
                                    .Output("output: T")
                                    .Attr(kNarrowFloats)
                                    .Attr("adj_x: bool = false")
                                    .Attr("adj_y: bool = false")
                                    .Attr("num_args: int >= 0"))
                          .Shape(shapes::BatchMatMul));
}

absl::Status RegisterFusedConvolutions(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(WithSteps(Op("_FusedDepthwiseConv2dNative")
                                             .Input("input: T")
                                             .Input("filter: T")
                                             .Input("args: num_args * T")
                                             .Output("output: T")
                                             .Attr("T: {half, bfloat16, float, double}")
                                             .Attr("num_args: int >= 0")
                                             .Attr("strides: list(int)")
                                             .Attr("padding: {'SAME', 'VALID'}")
                                             .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                                             .Attr("dilations: list(int) = [1, 1, 1, 1]"))
                                   .Shape(shapes::Unknown)));
  return ops.Register(WithSteps(Op("_FusedConv3D")
                                    .Input("input: T")
                                    .Input("filter: T")
                                    .Input("args: num_args * T")
                                    .Output("output: T")
                                    .Attr(kNarrowFloats)
                                    .Attr("num_args: int >= 0")
                                    .Attr("strides: list(int) >= 5")
                                    .Attr("padding: {'SAME', 'VALID'}")
                                    .Attr("data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'")
                                    .Attr("dilations: list(int) = [1, 1, 1, 1, 1]")
                                    .Attr("padding_list: list(int) = []"))
                          .Shape(shapes::Unknown));
}

absl::Status RegisterFusedNormalizations(OpRegistry& ops) {
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
  RETURN_IF_ERROR(ops.Register(WithSteps(Op("_MklFusedInstanceNorm")
                                             .Input("x: T")
                                             .Input("gamma: T")
                                             .Input("beta: T")
                                             .Output("y: T")
                                             .Attr("T: {float, bfloat16, half}"))
                                   .Attr("reduction_axes: list(int)")
                                   .Shape(shapes::Unchanged)));
  return ops.Register(Op("_MklLayerNorm")
                          .Input("x: T")
                          .Input("scale: T")
                          .Input("offset: T")
                          .Output("y: T")
                          .Attr("T: {float, bfloat16, half}")
                          .Attr("epsilon: float = 0.001")
                          .Shape(shapes::Unchanged));
}

}  // namespace

absl::Status RegisterOptimizerOps(OpRegistry& ops) {
  RETURN_IF_ERROR(RegisterFusedBatchMatMul(ops));
  RETURN_IF_ERROR(RegisterFusedConvolutions(ops));
  RETURN_IF_ERROR(RegisterFusedNormalizations(ops));
  RETURN_IF_ERROR(ops.Register(
      Op("_MklFusedMish").Input("features: T").Output("activations: T").Attr(kNarrowFloats).Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("_MklSwish")
                                   .Input("features: T")
                                   .Output("activations: T")
                                   .Attr("T: {float, bfloat16, half} = DT_FLOAT")
                                   .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("_UnaryOpsComposition")
                                   .Input("x: T")
                                   .Output("y: T")
                                   .Attr("T: {float, half, double}")
                                   .Attr("op_names: list(string)")
                                   .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("_TensorToHashBucketFast")
                                   .Input("input: T")
                                   .Output("output: int64")
                                   .Attr("T: {int8, uint8, int16, uint16, int32, uint32, int64, uint64}")
                                   .Attr("num_buckets: int >= 1")
                                   .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("_ParallelConcatStart")
                                   .Output("output: dtype")
                                   .Attr("shape: shape")
                                   .Attr("dtype: type")
                                   .Stateful()
                                   .Shape(shapes::FromShapeAttr)));
  return ops.Register(Op("_ParallelConcatUpdate")
                          .Input("value: T")
                          .Input("update: T")
                          .Output("output: T")
                          .Attr("T: type")
                          .Attr("loc: int")
                          .Shape(shapes::Unchanged));
}

}  // namespace weir
