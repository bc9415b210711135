// Assignments to a strided slice of a variable, and of a value.
#include "core/status.h"
#include "graph/shapes/common_shapes.h"
#include "graph/shapes/shape_inference.h"
#include "kernels/array/family.h"

namespace weir {
namespace {

// The kernel checks the indices; the result has the shape of the target.
Op SliceUpdate(Op op) {
  op.Input("begin: Index").Input("end: Index").Input("strides: Index").Input("value: T");
  return op;
}

absl::Status FinishSliceUpdate(OpRegistry& ops, Op op, const ShapeFn& shape) {
  return ops.Register(op.Attr("T: type")
                          .Attr("Index: {int32, int64}")
                          .Attr("begin_mask: int = 0")
                          .Attr("end_mask: int = 0")
                          .Attr("ellipsis_mask: int = 0")
                          .Attr("new_axis_mask: int = 0")
                          .Attr("shrink_axis_mask: int = 0")
                          .Shape(shape));
}

}  // namespace

absl::Status RegisterStridedSliceAssignOps(OpRegistry& ops) {
  RETURN_IF_ERROR(FinishSliceUpdate(
      ops, SliceUpdate(Op("StridedSliceAssign").WritesState().Input("ref: Ref(T)")).Output("output_ref: Ref(T)"),
      shapes::Unchanged));
  RETURN_IF_ERROR(FinishSliceUpdate(
      ops, SliceUpdate(Op("ResourceStridedSliceAssign").WritesState().Input("ref: resource")).Stateful(),
      shapes::NoOutputs));
  RETURN_IF_ERROR(FinishSliceUpdate(
      ops, SliceUpdate(Op("TensorStridedSliceUpdate").Input("input: T")).Output("output: T"), shapes::Unchanged));
  return absl::OkStatus();
}

}  // namespace weir
