// Ops that print tensors and assert conditions.
#include "graph/shapes/common_shapes.h"
#include "kernels/debug/family.h"
#include "kernels/device/op_shapes.h"

namespace weir {

absl::Status RegisterPrintOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("Assert")
                                   .Input("condition: bool")
                                   .Input("data: T")
                                   .Attr("T: list(type) >= 1")
                                   .Attr("summarize: int = 3")
                                   .Stateful()
                                   .Shape(shapes::NoOutputs)));
  RETURN_IF_ERROR(ops.Register(Op("Print")
                                   .Input("input: T")
                                   .Input("data: U")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .Attr("U: list(type) >= 0")
                                   .Attr("message: string = ''")
                                   .Attr("first_n: int = -1")
                                   .Attr("summarize: int = 3")
                                   .Stateful()
                                   .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("PrintV2")
                                   .Input("input: string")
                                   .Attr("output_stream: string = 'stderr'")
                                   .Attr("end: string = '\\n'")
                                   .Stateful()
                                   .Shape(shapes::NoOutputs)));
  return absl::OkStatus();
}

}  // namespace weir
