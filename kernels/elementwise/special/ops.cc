// Special functions.
#include "kernels/device/op_shapes.h"
#include "kernels/elementwise/family.h"

namespace weir {
namespace {

// Scalars spread over the other operands, which have one shape.
absl::Status BetaincShape(InferenceContext& c) {
  PartialTensorShape shape = c.Scalar();
  for (int i = 0; i < 3; ++i) {
    if (c.input(i).unknown_rank()) return absl::OkStatus();
    if (c.input(i).dims() == 0) continue;
    if (shape.dims() == 0) {
      shape = c.input(i);
    } else {
      ASSIGN_OR_RETURN(shape, c.Merge(shape, c.input(i)));
    }
  }
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterSpecialOps(OpRegistry& ops) {
  for (const char* name : {"BesselI0", "BesselI1", "BesselK0", "BesselK1", "BesselJ0", "BesselJ1", "BesselY0",
                           "BesselY1", "Dawsn", "Expint", "Spence"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("x: T")
                                     .Output("y: T")
                                     .Attr("T: {bfloat16, half, float, double}")
                                     .Elementwise()
                                     .Shape(shapes::Unchanged)));
  }
  for (const char* name : {"BesselI0e", "BesselI1e", "BesselK0e", "BesselK1e", "FresnelCos", "FresnelSin"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("x: T")
                                     .Output("y: T")
                                     .Attr("T: {bfloat16, half, float, double}")
                                     .Elementwise()
                                     .Shape(shapes::Unchanged)));
  }
  for (const char* name : {"Igamma", "Igammac"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("a: T")
                                     .Input("x: T")
                                     .Output("z: T")
                                     .Attr("T: {bfloat16, half, float, double}")
                                     .Elementwise()
                                     .Shape(shapes::BroadcastBinary)));
  }
  for (const char* name : {"IgammaGradA", "Polygamma"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("a: T")
                                     .Input("x: T")
                                     .Output("z: T")
                                     .Attr("T: {float, double}")
                                     .Elementwise()
                                     .Shape(shapes::BroadcastBinary)));
  }
  RETURN_IF_ERROR(ops.Register(Op("Zeta")
                                   .Input("x: T")
                                   .Input("q: T")
                                   .Output("z: T")
                                   .Attr("T: {float, double}")
                                   .Elementwise()
                                   .Shape(shapes::BroadcastBinary)));
  RETURN_IF_ERROR(ops.Register(Op("Betainc")
                                   .Input("a: T")
                                   .Input("b: T")
                                   .Input("x: T")
                                   .Output("z: T")
                                   .Attr("T: {float, double}")
                                   .Elementwise()
                                   .Shape(BetaincShape)));
  return absl::OkStatus();
}

}  // namespace weir
