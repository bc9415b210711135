// Updates of rows in place, and joining values as they arrive.
#include "core/status.h"
#include "graph/shapes/shape_inference.h"
#include "kernels/array/family.h"

namespace weir {
namespace {

absl::Status ParallelConcatShape(InferenceContext& c) {
  PartialTensorShape shape;
  RETURN_IF_ERROR(c.GetAttr("shape", &shape));
  if (!shape.IsFullyDefined() || shape.dims() < 1) {
    return errors::InvalidArgument("shape attr must be fully defined, and not a scalar's: ", shape.ToString());
  }
  ASSIGN_OR_RETURN(PartialTensorShape rest, c.Subshape(shape, 1));
  const PartialTensorShape row = c.Concatenate(c.Vector(1), rest);
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (!c.input(i).IsFullyDefined()) {
      return errors::InvalidArgument("All input shapes must be fully defined.");
    }
    if (!(c.input(i) == row)) {
      return errors::InvalidArgument("Shape ", i, " of the values, ", c.input(i).ToString(), ", must be ",
                                     row.ToString());
    }
  }
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterInplaceOps(OpRegistry& ops) {
  for (const char* name : {"InplaceUpdate", "InplaceAdd", "InplaceSub"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("x: T")
                                     .Input("i: int32")
                                     .Input("v: T")
                                     .Output("y: T")
                                     .Attr("T: type")
                                     .Shape(shapes::Unchanged)));
  }
  RETURN_IF_ERROR(ops.Register(Op("ParallelConcat")
                                   .Input("values: N * T")
                                   .Output("output: T")
                                   .Attr("N: int >= 1")
                                   .Attr("T: type")
                                   .Attr("shape: shape")
                                   .Shape(ParallelConcatShape)));
  return absl::OkStatus();
}

}  // namespace weir
