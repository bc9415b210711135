// An optimizer's step on many variables as one op (graph/passes/fused_updates.h); only a worker makes it.
#include "graph/shapes/common_shapes.h"
#include "kernels/training/family.h"

namespace weir {

absl::Status RegisterFusedTrainingOps(OpRegistry& ops) {
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
                                   .WritesState()
                                   .Shape(shapes::NoOutputs)));
  return absl::OkStatus();
}

}  // namespace weir
