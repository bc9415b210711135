// Element-wise ops of one operand.
#include "kernels/device/op_shapes.h"
#include "kernels/elementwise/family.h"

namespace weir {

absl::Status RegisterUnaryOps(OpRegistry& ops) {
  for (const char* name : {"Neg", "Sign", "Reciprocal", "Inv", "Round"}) {
    RETURN_IF_ERROR(
        ops.Register(Op(name)
                         .Input("x: T")
                         .Output("y: T")
                         .Attr("T: {bfloat16, half, float, double, int8, int16, int32, int64, complex64, complex128}")
                         .Elementwise()
                         .Shape(shapes::Unchanged)));
  }
  RETURN_IF_ERROR(ops.Register(Op("Abs")
                                   .Input("x: T")
                                   .Output("y: T")
                                   .Attr("T: {bfloat16, half, float, double, int8, int16, int32, int64}")
                                   .Elementwise()
                                   .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(
      Op("Square")
          .Input("x: T")
          .Output("y: T")
          .Attr(
              "T: {bfloat16, half, float, double, int8, int16, int32, int64, uint8, uint16, uint32, uint64, complex64, "
              "complex128}")
          .Elementwise()
          .Shape(shapes::Unchanged)));
  for (const char* name : {"Sqrt", "Rsqrt", "Exp", "Log", "Log1p", "Expm1", "Tanh", "Sigmoid", "Sin", "Cos", "Tan",
                           "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("x: T")
                                     .Output("y: T")
                                     .Attr("T: {bfloat16, half, float, double, complex64, complex128}")
                                     .Elementwise()
                                     .Shape(shapes::Unchanged)));
  }
  for (const char* name : {"Floor", "Ceil", "Rint", "Erf", "Erfc", "Erfinv", "Ndtri", "Lgamma", "Digamma"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("x: T")
                                     .Output("y: T")
                                     .Attr("T: {bfloat16, half, float, double}")
                                     .Elementwise()
                                     .Shape(shapes::Unchanged)));
  }
  for (const char* name : {"IsNan", "IsInf", "IsFinite"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("x: T")
                                     .Output("y: bool")
                                     .Attr("T: {bfloat16, half, float, double}")
                                     .Elementwise()
                                     .Shape(shapes::Unchanged)));
  }
  RETURN_IF_ERROR(
      ops.Register(Op("LogicalNot").Input("x: bool").Output("y: bool").Elementwise().Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("Invert")
                                   .Input("x: T")
                                   .Output("y: T")
                                   .Attr("T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}")
                                   .Elementwise()
                                   .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("PopulationCount")
                                   .Input("x: T")
                                   .Output("y: uint8")
                                   .Attr("T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}")
                                   .Elementwise()
                                   .Shape(shapes::Unchanged)));
  for (const char* name : {"TanhGrad", "SigmoidGrad", "SqrtGrad", "RsqrtGrad", "ReciprocalGrad", "InvGrad"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("y: T")
                                     .Input("dy: T")
                                     .Output("z: T")
                                     .Attr("T: {bfloat16, half, float, double, complex64, complex128}")
                                     .Elementwise()
                                     .Shape(shapes::Unchanged)));
  }
  RETURN_IF_ERROR(ops.Register(Op("Conj")
                                   .Input("input: T")
                                   .Output("output: T")
                                   .Attr("T: {complex64, complex128, variant} = DT_COMPLEX64")
                                   .Elementwise()
                                   .Shape(shapes::Unchanged)));
  for (const char* name : {"Real", "Imag", "Angle"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("input: T")
                                     .Output("output: Tout")
                                     .Attr("T: {complex64, complex128} = DT_COMPLEX64")
                                     .Attr("Tout: {float, double} = DT_FLOAT")
                                     .Elementwise()
                                     .Shape(shapes::Unchanged)));
  }
  RETURN_IF_ERROR(ops.Register(Op("ComplexAbs")
                                   .Input("x: T")
                                   .Output("y: Tout")
                                   .Attr("T: {complex64, complex128} = DT_COMPLEX64")
                                   .Attr("Tout: {float, double} = DT_FLOAT")
                                   .Elementwise()
                                   .Shape(shapes::Unchanged)));
  return absl::OkStatus();
}

}  // namespace weir
