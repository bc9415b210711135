// The steps of ParallelConcat, as TensorFlow's optimizer makes them. A worker expands those that its device has no
// kernel for (graph/fused/expand_fused_ops.h).
#include "graph/shapes/common_shapes.h"
#include "kernels/array/family.h"

namespace weir {

absl::Status RegisterParallelConcatStepOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("_ParallelConcatStart")
                                   .Output("output: dtype")
                                   .Attr("shape: shape")
                                   .Attr("dtype: type")
                                   .Stateful()
                                   .Shape(shapes::FromShapeAttr)));
  RETURN_IF_ERROR(ops.Register(Op("_ParallelConcatUpdate")
                                   .Input("value: T")
                                   .Input("update: T")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .Attr("loc: int")
                                   .Shape(shapes::Unchanged)));
  return absl::OkStatus();
}

}  // namespace weir
