// A matrix product with the ops that follow it, as graph rewrites make it here and in TensorFlow's master. A worker
// expands those that its device has no kernel for (graph/fused/expand_fused_ops.h).
#include "graph/shapes/common_shapes.h"
#include "kernels/linalg/family.h"

namespace weir {

absl::Status RegisterFusedMatMulOps(OpRegistry& ops) {
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
  RETURN_IF_ERROR(ops.Register(Op("_MklFusedBatchMatMulV2")
                                   .Input("x: T")
                                   .Input("y: T")
                                   .Input("args: num_args * T")
                                   .Output("output: T")
                                   .Attr("T: {bfloat16, float, half}")
                                   .Attr("adj_x: bool = false")
                                   .Attr("adj_y: bool = false")
                                   .Attr("num_args: int >= 0")
                                   .Attr("fused_ops: list(string) = []")
                                   .Attr("epsilon: float = 0.0001")
                                   .Attr("leakyrelu_alpha: float = 0.2")
                                   .Shape(shapes::BatchMatMul)));
  return absl::OkStatus();
}

}  // namespace weir
