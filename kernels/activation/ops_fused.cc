// Activations that TensorFlow's optimizer makes. A worker expands those that its device has no kernel for
// (graph/fused/expand_fused_ops.h).
#include "graph/shapes/common_shapes.h"
#include "kernels/activation/family.h"

namespace weir {

absl::Status RegisterFusedActivationOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("_MklFusedMish")
                                   .Input("features: T")
                                   .Output("activations: T")
                                   .Attr("T: {bfloat16, float, half}")
                                   .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("_MklSwish")
                                   .Input("features: T")
                                   .Output("activations: T")
                                   .Attr("T: {float, bfloat16, half} = DT_FLOAT")
                                   .Shape(shapes::Unchanged)));
  return absl::OkStatus();
}

}  // namespace weir
