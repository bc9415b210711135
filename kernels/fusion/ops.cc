// Ops that graph rewrites make, here and in TensorFlow's master: a product or a convolution with what follows it; and
// those that none but a worker makes: attention (graph/passes/attention.cc), and an optimizer's step on many variables
// (graph/passes/fused_updates.h).
#include "graph/common_shapes.h"
#include "kernels/fusion/family.h"

namespace weir {

namespace {

absl::Status FusedConvolutionShape(InferenceContext& c) {
  std::string filter_format;
  RETURN_IF_ERROR(c.GetAttr("filter_format", &filter_format));
  return filter_format == "HWIO" ? shapes::Conv2D(c) : shapes::Unknown(c);
}

// Of matrices alone: batches broadcast, and a mask may add to the scores' dimensions.
absl::Status FusedAttentionShape(InferenceContext& c) {
  int64_t num_masks = 0;
  RETURN_IF_ERROR(c.GetAttr("num_masks", &num_masks));
  ASSIGN_OR_RETURN(const PartialTensorShape q, c.WithRankAtLeast(c.input(0), 2));
  ASSIGN_OR_RETURN(const PartialTensorShape v, c.WithRankAtLeast(c.input(2), 2));
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, PartialTensorShape());
  if (num_masks > 0 || q.dims() != 2 || v.dims() != 2) return absl::OkStatus();
  c.set_output(0, InferenceContext::Matrix(q.dim_size(0), v.dim_size(1)));
  return absl::OkStatus();
}

// A vector.
absl::Status ScoresShapeShape(InferenceContext& c) {
  c.set_output(0, InferenceContext::UnknownOfRank(1));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterFusedOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("_FusedAttention")
                                   .Input("q: T")
                                   .Input("k: T")
                                   .Input("v: T")
                                   .Input("mask: num_masks * T")
                                   .Output("output: T")
                                   .Output("statistics: num_statistics * float")
                                   .Attr("T: {bfloat16, half, float}")
                                   .Attr("num_masks: int >= 0 = 0")
                                   .Attr("num_statistics: int >= 0 = 0")
                                   .Attr("scale: float = 1")
                                   .Attr("transpose_k: bool = true")
                                   .Shape(FusedAttentionShape)));
  RETURN_IF_ERROR(ops.Register(Op("_FusedAttentionGrad")
                                   .Input("q: T")
                                   .Input("k: T")
                                   .Input("v: T")
                                   .Input("mask: num_masks * T")
                                   .Input("output: T")
                                   .Input("largest: float")
                                   .Input("sum: float")
                                   .Input("gradient: T")
                                   .Output("dq: T")
                                   .Output("dk: T")
                                   .Output("dv: T")
                                   .Attr("T: {bfloat16, half, float}")
                                   .Attr("num_masks: int >= 0 = 0")
                                   .Attr("scale: float = 1")
                                   .Attr("transpose_k: bool = true")
                                   .Attr("sums_weights: bool = false")
                                   .Attr("sums_scores: bool = false")
                                   .Shape(shapes::Unknown)));
  RETURN_IF_ERROR(ops.Register(Op("_AttentionScoresShape")
                                   .Input("q: T")
                                   .Input("k: T")
                                   .Input("mask: num_masks * T")
                                   .Output("output: out_type")
                                   .Attr("T: {bfloat16, half, float}")
                                   .Attr("num_masks: int >= 0 = 0")
                                   .Attr("transpose_k: bool = true")
                                   .Attr("out_type: {int32, int64} = DT_INT32")
                                   .Shape(ScoresShapeShape)));
  RETURN_IF_ERROR(ops.Register(Op("_FusedResourceApply")
                                   .Input("variables: num_variables * resource")
                                   .Input("scalars: num_scalars * T")
                                   .Input("gradients: N * T")
                                   .Attr("rule: string")
                                   .Attr("T: {bfloat16, half, float, double}")
                                   .Attr("N: int >= 1")
                                   .Attr("num_variables: int >= 1")
                                   .Attr("num_scalars: int >= 0")
                                   .Attr("flag: bool = false")
                                   .Attr("names: list(string)")
                                   .Stateful()
                                   .Shape(shapes::NoOutputs)));
  RETURN_IF_ERROR(ops.Register(Op("_FusedMatMul")
                                   .Input("a: T")
                                   .Input("b: T")
                                   .Input("args: num_args * T")
                                   .Output("product: T")
                                   .Attr("transpose_a: bool = false")
                                   .Attr("transpose_b: bool = false")
                                   .Attr("T: {bfloat16, half, float}")
                                   .Attr("num_args: int >= 0")
                                   .Attr("fused_ops: list(string) = []")
                                   .Attr("epsilon: float = 0.0001")
                                   .Attr("leakyrelu_alpha: float = 0.2")
                                   .Shape(shapes::MatMul)));
  return ops.Register(Op("_FusedConv2D")
                          .Input("input: T")
                          .Input("filter: T")
                          .Input("args: TArgs")
                          .Input("host_args: num_host_args * float")
                          .Output("output: T")
                          .Attr("T: {half, float, double, int8, qint8}")
                          .Attr("TArgs: list(type) >= 1")
                          .Attr("num_args: int >= 0")
                          .Attr("num_host_args: int >= 0 = 0")
                          .Attr("strides: list(int)")
                          .Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}")
                          .Attr("explicit_paddings: list(int) = []")
                          .Attr("data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'")
                          .Attr("filter_format: {'HWIO', 'OIHW', 'OIHW_VECT_I'} = 'HWIO'")
                          .Attr("dilations: list(int) = [1, 1, 1, 1]")
                          .Attr("use_cudnn_on_gpu: bool = true")
                          .Attr("fused_ops: list(string) = []")
                          .Attr("epsilon: float = 0.0001")
                          .Attr("leakyrelu_alpha: float = 0.2")
                          .Shape(FusedConvolutionShape));
}

}  // namespace weir
