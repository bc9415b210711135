// Element-wise ops of two operands, and sums of many.
#include "graph/shapes/common_shapes.h"
#include "kernels/device/op_shapes.h"
#include "kernels/elementwise/family.h"

namespace weir {
namespace {

absl::Status EqualityShape(InferenceContext& c) {
  bool incompatible_shape_error;
  RETURN_IF_ERROR(c.GetAttr("incompatible_shape_error", &incompatible_shape_error));
  if (incompatible_shape_error) return shapes::BroadcastBinary(c);
  const PartialTensorShape& x = c.input(0);
  const PartialTensorShape& y = c.input(1);
  // Incompatible shapes give a scalar, so only a broadcast that is certain to succeed gives a known shape.
  if (!x.IsFullyDefined() || !y.IsFullyDefined()) return absl::OkStatus();
  absl::StatusOr<PartialTensorShape> both = shapes::Broadcast(x, y);
  c.set_output(0, both.ok() ? *std::move(both) : InferenceContext::Scalar());
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterBinaryOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(
      Op("Add")
          .Input("x: T")
          .Input("y: T")
          .Output("z: T")
          .Attr("T: {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, complex128, string}")
          .Elementwise()
          .Shape(shapes::BroadcastBinary)));
  RETURN_IF_ERROR(ops.Register(
      Op("AddV2")
          .Input("x: T")
          .Input("y: T")
          .Output("z: T")
          .Attr(
              "T: {bfloat16, half, float, double, uint8, uint16, uint32, uint64, int8, int16, int32, int64, complex64, "
              "complex128}")
          .Commutative()
          .Aggregate()
          .Elementwise()
          .Shape(shapes::BroadcastBinary)));
  RETURN_IF_ERROR(ops.Register(
      Op("Sub")
          .Input("x: T")
          .Input("y: T")
          .Output("z: T")
          .Attr("T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, int64, complex64, complex128, "
                "uint32, uint64}")
          .Elementwise()
          .Shape(shapes::BroadcastBinary)));
  RETURN_IF_ERROR(ops.Register(
      Op("Mul")
          .Input("x: T")
          .Input("y: T")
          .Output("z: T")
          .Attr(
              "T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, uint32, uint64, int64, complex64, "
              "complex128}")
          .Commutative()
          .Elementwise()
          .Shape(shapes::BroadcastBinary)));
  for (const char* name : {"Div", "RealDiv", "FloorDiv", "TruncateDiv"}) {
    RETURN_IF_ERROR(ops.Register(
        Op(name)
            .Input("x: T")
            .Input("y: T")
            .Output("z: T")
            .Attr("T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, uint32, uint64, int64, "
                  "complex64, complex128}")
            .Elementwise()
            .Shape(shapes::BroadcastBinary)));
  }
  RETURN_IF_ERROR(ops.Register(Op("DivNoNan")
                                   .Input("x: T")
                                   .Input("y: T")
                                   .Output("z: T")
                                   .Attr("T: {half, float, bfloat16, double, complex64, complex128}")
                                   .Elementwise()
                                   .Shape(shapes::BroadcastBinary)));
  RETURN_IF_ERROR(ops.Register(
      Op("FloorMod")
          .Input("x: T")
          .Input("y: T")
          .Output("z: T")
          .Attr("T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64, bfloat16, half, float, double}")
          .Elementwise()
          .Shape(shapes::BroadcastBinary)));
  RETURN_IF_ERROR(ops.Register(Op("Mod")
                                   .Input("x: T")
                                   .Input("y: T")
                                   .Output("z: T")
                                   .Attr("T: {int32, int64, half, half, bfloat16, float, double}")
                                   .Elementwise()
                                   .Shape(shapes::BroadcastBinary)));
  RETURN_IF_ERROR(ops.Register(Op("TruncateMod")
                                   .Input("x: T")
                                   .Input("y: T")
                                   .Output("z: T")
                                   .Attr("T: {int32, int64, bfloat16, half, float, double}")
                                   .Elementwise()
                                   .Shape(shapes::BroadcastBinary)));
  RETURN_IF_ERROR(
      ops.Register(Op("Pow")
                       .Input("x: T")
                       .Input("y: T")
                       .Output("z: T")
                       .Attr("T: {bfloat16, float, half, double, int8, int16, int32, int64, complex64, complex128}")
                       .Elementwise()
                       .Shape(shapes::BroadcastBinary)));
  for (const char* name : {"Maximum", "Minimum"}) {
    RETURN_IF_ERROR(ops.Register(
        Op(name)
            .Input("x: T")
            .Input("y: T")
            .Output("z: T")
            .Attr("T: {bfloat16, half, float, double, int8, uint8, int16, uint16, int32, uint32, int64, uint64}")
            .Elementwise()
            .Shape(shapes::BroadcastBinary)));
  }
  RETURN_IF_ERROR(ops.Register(Op("SquaredDifference")
                                   .Input("x: T")
                                   .Input("y: T")
                                   .Output("z: T")
                                   .Attr("T: {bfloat16, half, float, double, int32, int64, complex64, complex128}")
                                   .Commutative()
                                   .Elementwise()
                                   .Shape(shapes::BroadcastBinary)));
  RETURN_IF_ERROR(ops.Register(Op("MulNoNan")
                                   .Input("x: T")
                                   .Input("y: T")
                                   .Output("z: T")
                                   .Attr("T: {bfloat16, half, float, double, complex64, complex128}")
                                   .Elementwise()
                                   .Shape(shapes::BroadcastBinary)));
  for (const char* name : {"Xlogy", "Xdivy", "Xlog1py"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("x: T")
                                     .Input("y: T")
                                     .Output("z: T")
                                     .Attr("T: {half, bfloat16, float, double, complex64, complex128}")
                                     .Elementwise()
                                     .Shape(shapes::BroadcastBinary)));
  }
  RETURN_IF_ERROR(ops.Register(Op("Atan2")
                                   .Input("y: T")
                                   .Input("x: T")
                                   .Output("z: T")
                                   .Attr("T: {bfloat16, half, float, double}")
                                   .Elementwise()
                                   .Shape(shapes::BroadcastBinary)));
  for (const char* name : {"Less", "LessEqual", "Greater", "GreaterEqual"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("x: T")
                                     .Input("y: T")
                                     .Output("z: bool")
                                     .Attr("T: realnumbertype")
                                     .Elementwise()
                                     .Shape(shapes::BroadcastBinary)));
  }
  for (const char* name : {"LogicalAnd", "LogicalOr"}) {
    RETURN_IF_ERROR(
        ops.Register(Op(name).Input("x: bool").Input("y: bool").Output("z: bool").Commutative().Elementwise().Shape(
            shapes::BroadcastBinary)));
  }
  for (const char* name : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("x: T")
                                     .Input("y: T")
                                     .Output("z: T")
                                     .Attr("T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}")
                                     .Commutative()
                                     .Elementwise()
                                     .Shape(shapes::BroadcastBinary)));
  }
  for (const char* name : {"LeftShift", "RightShift"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("x: T")
                                     .Input("y: T")
                                     .Output("z: T")
                                     .Attr("T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}")
                                     .Elementwise()
                                     .Shape(shapes::BroadcastBinary)));
  }
  RETURN_IF_ERROR(ops.Register(Op("NextAfter")
                                   .Input("x1: T")
                                   .Input("x2: T")
                                   .Output("output: T")
                                   .Attr("T: {double, float} = DT_FLOAT")
                                   .Elementwise()
                                   .Shape(shapes::BroadcastBinary)));
  RETURN_IF_ERROR(ops.Register(Op("Complex")
                                   .Input("real: T")
                                   .Input("imag: T")
                                   .Output("out: Tout")
                                   .Attr("T: {float, double} = DT_FLOAT")
                                   .Attr("Tout: {complex64, complex128} = DT_COMPLEX64")
                                   .Elementwise()
                                   .Shape(shapes::BroadcastBinary)));
  for (const char* name : {"Equal", "NotEqual"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("x: T")
                                     .Input("y: T")
                                     .Output("z: bool")
                                     .Attr("T: type")
                                     .Attr("incompatible_shape_error: bool = true")
                                     .Commutative()
                                     .Elementwise()
                                     .Shape(EqualityShape)));
  }
  RETURN_IF_ERROR(ops.Register(Op("ApproximateEqual")
                                   .Input("x: T")
                                   .Input("y: T")
                                   .Output("z: bool")
                                   .Attr("T: numbertype")
                                   .Attr("tolerance: float = 9.999999747378752e-06")
                                   .Commutative()
                                   .Elementwise()
                                   .Shape(shapes::MergeAll)));
  RETURN_IF_ERROR(ops.Register(
      Op("AddN")
          .Input("inputs: N * T")
          .Output("sum: T")
          .Attr("N: int >= 1")
          .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, "
                "qint16, quint16, uint16, complex128, half, uint32, uint64, variant}")
          .Commutative()
          .Aggregate()
          .Elementwise()
          .Shape(shapes::MergeAll)));
  RETURN_IF_ERROR(ops.Register(
      Op("AccumulateNV2")
          .Input("inputs: N * T")
          .Output("sum: T")
          .Attr("N: int >= 1")
          .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, "
                "qint16, quint16, uint16, complex128, half, uint32, uint64}")
          .Attr("shape: shape")
          .Commutative()
          .Aggregate()
          .Elementwise()
          .Shape(shapes::FromShapeAttr)));
  return absl::OkStatus();
}

}  // namespace weir
