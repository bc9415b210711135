// Attention as one op. Only a worker makes these ops (graph/passes/attention.cc).
#include "graph/shapes/common_shapes.h"
#include "kernels/attention/family.h"

namespace weir {
namespace {

// Known for plain matrices only: batches broadcast, and a mask may add dimensions to the scores.
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

absl::Status RegisterAttentionOps(OpRegistry& ops) {
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
  return absl::OkStatus();
}

}  // namespace weir
