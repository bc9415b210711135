// A chain of element-wise ops that TensorFlow's optimizer makes; a worker expands it (graph/fused/expand_fused_ops.h).
#include "graph/shapes/common_shapes.h"
#include "kernels/fusion/family.h"

namespace weir {

absl::Status RegisterFusionOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("_UnaryOpsComposition")
                                   .Input("x: T")
                                   .Output("y: T")
                                   .Attr("T: {float, half, double}")
                                   .Attr("op_names: list(string)")
                                   .Shape(shapes::Unchanged)));
  return absl::OkStatus();
}

}  // namespace weir
