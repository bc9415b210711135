// Element-wise ops of one, two and three operands, and broadcasting.
#include <algorithm>

#include "core/status.h"
#include "graph/common_shapes.h"
#include "kernels/device/op_shapes.h"
#include "kernels/elementwise/family.h"

namespace weir {
namespace {

constexpr int kUnknown = -1;

absl::Status BitcastShape(InferenceContext& c) {
  PartialTensorShape input = c.input(0);
  DataType from, to;
  RETURN_IF_ERROR(c.GetAttr("T", &from));
  RETURN_IF_ERROR(c.GetAttr("type", &to));
  const int64_t from_size = DataTypeSize(from), to_size = DataTypeSize(to);
  if (from_size == 0 || to_size == 0) {
    return errors::InvalidArgument("Cannot bitcast types ", DataTypeName(from), " to ", DataTypeName(to),
                                   " because one of the type sizes is zero.");
  }
  if (input.unknown_rank()) return absl::OkStatus();
  DimVector dims(input.dim_sizes().begin(), input.dim_sizes().end());
  if (from_size < to_size) {
    const int64_t ratio = to_size / from_size;
    if (dims.empty() || (dims.back() != kUnknown && dims.back() != ratio)) {
      return errors::InvalidArgument("Cannot bitcast from ", DataTypeName(from), " to ", DataTypeName(to),
                                     " due to shape. ", input.ToString(), " does not end in ", ratio);
    }
    dims.pop_back();
  } else if (from_size > to_size) {
    dims.push_back(from_size / to_size);
  }
  ASSIGN_OR_RETURN(PartialTensorShape output, PartialTensorShape::Build(dims));
  c.set_output(0, std::move(output));
  return absl::OkStatus();
}

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

// The condition has the shape of the values, or is a vector over their first dimension, or a scalar.
absl::Status SelectShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape data, c.input(1).MergeWith(c.input(2)));
  c.set_output(0, data);
  const PartialTensorShape& condition = c.input(0);
  if (data.unknown_rank() || condition.unknown_rank() || condition.dims() == 0) return absl::OkStatus();
  if (condition.dims() == 1 && data.dims() > 1) {
    return c.MergeDim(condition.dim_size(0), data.dim_size(0)).status();
  }
  ASSIGN_OR_RETURN(PartialTensorShape merged, data.MergeWith(condition));
  c.set_output(0, std::move(merged));
  return absl::OkStatus();
}

absl::Status SelectV2Shape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape values, shapes::Broadcast(c.input(1), c.input(2)));
  ASSIGN_OR_RETURN(PartialTensorShape output, shapes::Broadcast(c.input(0), values));
  c.set_output(0, std::move(output));
  return absl::OkStatus();
}

absl::Status BroadcastToShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.WithRank(c.input(1), 1).status());
  ASSIGN_OR_RETURN(PartialTensorShape output, c.InputAsShape(1));
  const PartialTensorShape& input = c.input(0);
  c.set_output(0, output);
  if (output.unknown_rank() || input.unknown_rank()) return absl::OkStatus();
  DimVector dims = op_shapes::Dims(output);
  if (input.dims() > output.dims()) {
    return errors::InvalidArgument("Shape must be at most rank ", output.dims(), " but is rank ", input.dims());
  }
  const int lead = output.dims() - input.dims();
  for (int i = 0; i < input.dims(); ++i) {
    const int64_t from = input.dim_size(i), to = output.dim_size(lead + i);
    if (from != kUnknown && to != kUnknown && from != 1 && from != to) {
      return errors::InvalidArgument("Incompatible shapes: cannot broadcast ", input.ToString(), " to ",
                                     output.ToString());
    }
    if (to == kUnknown && from != 1) dims[lead + i] = from;
  }
  return op_shapes::SetOutput(c, 0, dims);
}

absl::Status BroadcastArgsShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape x, c.WithRank(c.input(0), 1));
  ASSIGN_OR_RETURN(PartialTensorShape y, c.WithRank(c.input(1), 1));
  const int64_t nx = c.Dim(x, 0), ny = c.Dim(y, 0);
  c.set_output(0, c.Vector(nx == kUnknown || ny == kUnknown ? kUnknown : std::max(nx, ny)));
  return absl::OkStatus();
}

absl::Status BroadcastGradientArgsShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.WithRank(c.input(0), 1).status());
  RETURN_IF_ERROR(c.WithRank(c.input(1), 1).status());
  c.set_output(0, c.Vector(kUnknown));
  c.set_output(1, c.Vector(kUnknown));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterUnaryOps(OpRegistry& ops) {
  for (const char* name : {"Neg", "Sign", "Reciprocal", "Inv", "Round"}) {
    RETURN_IF_ERROR(
        ops.Register(Op(name)
                         .Input("x: T")
                         .Output("y: T")
                         .Attr("T: {bfloat16, half, float, double, int8, int16, int32, int64, complex64, complex128}")
                         .Shape(shapes::Unchanged)));
  }
  RETURN_IF_ERROR(ops.Register(Op("Abs")
                                   .Input("x: T")
                                   .Output("y: T")
                                   .Attr("T: {bfloat16, half, float, double, int8, int16, int32, int64}")
                                   .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(
      Op("Square")
          .Input("x: T")
          .Output("y: T")
          .Attr(
              "T: {bfloat16, half, float, double, int8, int16, int32, int64, uint8, uint16, uint32, uint64, complex64, "
              "complex128}")
          .Shape(shapes::Unchanged)));
  for (const char* name : {"Sqrt", "Rsqrt", "Exp", "Log", "Log1p", "Expm1", "Tanh", "Sigmoid", "Sin", "Cos", "Tan",
                           "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("x: T")
                                     .Output("y: T")
                                     .Attr("T: {bfloat16, half, float, double, complex64, complex128}")
                                     .Shape(shapes::Unchanged)));
  }
  for (const char* name : {"Floor", "Ceil", "Rint", "Erf", "Erfc", "Erfinv", "Ndtri", "Lgamma", "Digamma"}) {
    RETURN_IF_ERROR(ops.Register(
        Op(name).Input("x: T").Output("y: T").Attr("T: {bfloat16, half, float, double}").Shape(shapes::Unchanged)));
  }
  for (const char* name : {"IsNan", "IsInf", "IsFinite"}) {
    RETURN_IF_ERROR(ops.Register(
        Op(name).Input("x: T").Output("y: bool").Attr("T: {bfloat16, half, float, double}").Shape(shapes::Unchanged)));
  }
  RETURN_IF_ERROR(ops.Register(Op("LogicalNot").Input("x: bool").Output("y: bool").Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("Invert")
                                   .Input("x: T")
                                   .Output("y: T")
                                   .Attr("T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}")
                                   .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("PopulationCount")
                                   .Input("x: T")
                                   .Output("y: uint8")
                                   .Attr("T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}")
                                   .Shape(shapes::Unchanged)));
  for (const char* name : {"TanhGrad", "SigmoidGrad", "SqrtGrad", "RsqrtGrad", "ReciprocalGrad", "InvGrad"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("y: T")
                                     .Input("dy: T")
                                     .Output("z: T")
                                     .Attr("T: {bfloat16, half, float, double, complex64, complex128}")
                                     .Shape(shapes::Unchanged)));
  }
  RETURN_IF_ERROR(ops.Register(Op("Conj")
                                   .Input("input: T")
                                   .Output("output: T")
                                   .Attr("T: {complex64, complex128, variant} = DT_COMPLEX64")
                                   .Shape(shapes::Unchanged)));
  for (const char* name : {"Real", "Imag", "Angle"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("input: T")
                                     .Output("output: Tout")
                                     .Attr("T: {complex64, complex128} = DT_COMPLEX64")
                                     .Attr("Tout: {float, double} = DT_FLOAT")
                                     .Shape(shapes::Unchanged)));
  }
  RETURN_IF_ERROR(ops.Register(Op("ComplexAbs")
                                   .Input("x: T")
                                   .Output("y: Tout")
                                   .Attr("T: {complex64, complex128} = DT_COMPLEX64")
                                   .Attr("Tout: {float, double} = DT_FLOAT")
                                   .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("Cast")
                                   .Input("x: SrcT")
                                   .Output("y: DstT")
                                   .Attr("SrcT: type")
                                   .Attr("DstT: type")
                                   .Attr("Truncate: bool = false")
                                   .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("ClipByValue")
                                   .Input("t: T")
                                   .Input("clip_value_min: T")
                                   .Input("clip_value_max: T")
                                   .Output("output: T")
                                   .Attr("T: numbertype")
                                   .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("CheckNumerics")
                                   .Input("tensor: T")
                                   .Output("output: T")
                                   .Attr("T: {bfloat16, half, float, double}")
                                   .Attr("message: string")
                                   .Stateful()
                                   .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(
      Op("Bitcast")
          .Input("input: T")
          .Output("output: type")
          .Attr(
              "T: {bfloat16, half, float, double, int64, int32, uint8, uint16, uint32, uint64, int8, int16, complex64, "
              "complex128, qint8, quint8, qint16, quint16, qint32}")
          .Attr("type: {bfloat16, half, float, double, int64, int32, uint8, uint16, uint32, uint64, int8, int16, "
                "complex64, complex128, qint8, quint8, qint16, quint16, qint32}")
          .Shape(BitcastShape)));
  return absl::OkStatus();
}

absl::Status RegisterBinaryOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(
      Op("Add")
          .Input("x: T")
          .Input("y: T")
          .Output("z: T")
          .Attr("T: {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, complex128, string}")
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
          .Shape(shapes::BroadcastBinary)));
  RETURN_IF_ERROR(ops.Register(
      Op("Sub")
          .Input("x: T")
          .Input("y: T")
          .Output("z: T")
          .Attr("T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, int64, complex64, complex128, "
                "uint32, uint64}")
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
          .Shape(shapes::BroadcastBinary)));
  for (const char* name : {"Div", "RealDiv", "FloorDiv", "TruncateDiv"}) {
    RETURN_IF_ERROR(ops.Register(
        Op(name)
            .Input("x: T")
            .Input("y: T")
            .Output("z: T")
            .Attr("T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, uint32, uint64, int64, "
                  "complex64, complex128}")
            .Shape(shapes::BroadcastBinary)));
  }
  RETURN_IF_ERROR(ops.Register(Op("DivNoNan")
                                   .Input("x: T")
                                   .Input("y: T")
                                   .Output("z: T")
                                   .Attr("T: {half, float, bfloat16, double, complex64, complex128}")
                                   .Shape(shapes::BroadcastBinary)));
  RETURN_IF_ERROR(ops.Register(
      Op("FloorMod")
          .Input("x: T")
          .Input("y: T")
          .Output("z: T")
          .Attr("T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64, bfloat16, half, float, double}")
          .Shape(shapes::BroadcastBinary)));
  RETURN_IF_ERROR(ops.Register(Op("Mod")
                                   .Input("x: T")
                                   .Input("y: T")
                                   .Output("z: T")
                                   .Attr("T: {int32, int64, half, half, bfloat16, float, double}")
                                   .Shape(shapes::BroadcastBinary)));
  RETURN_IF_ERROR(ops.Register(Op("TruncateMod")
                                   .Input("x: T")
                                   .Input("y: T")
                                   .Output("z: T")
                                   .Attr("T: {int32, int64, bfloat16, half, float, double}")
                                   .Shape(shapes::BroadcastBinary)));
  RETURN_IF_ERROR(
      ops.Register(Op("Pow")
                       .Input("x: T")
                       .Input("y: T")
                       .Output("z: T")
                       .Attr("T: {bfloat16, float, half, double, int8, int16, int32, int64, complex64, complex128}")
                       .Shape(shapes::BroadcastBinary)));
  for (const char* name : {"Maximum", "Minimum"}) {
    RETURN_IF_ERROR(ops.Register(
        Op(name)
            .Input("x: T")
            .Input("y: T")
            .Output("z: T")
            .Attr("T: {bfloat16, half, float, double, int8, uint8, int16, uint16, int32, uint32, int64, uint64}")
            .Shape(shapes::BroadcastBinary)));
  }
  RETURN_IF_ERROR(ops.Register(Op("SquaredDifference")
                                   .Input("x: T")
                                   .Input("y: T")
                                   .Output("z: T")
                                   .Attr("T: {bfloat16, half, float, double, int32, int64, complex64, complex128}")
                                   .Commutative()
                                   .Shape(shapes::BroadcastBinary)));
  RETURN_IF_ERROR(ops.Register(Op("MulNoNan")
                                   .Input("x: T")
                                   .Input("y: T")
                                   .Output("z: T")
                                   .Attr("T: {bfloat16, half, float, double, complex64, complex128}")
                                   .Shape(shapes::BroadcastBinary)));
  for (const char* name : {"Xlogy", "Xdivy", "Xlog1py"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("x: T")
                                     .Input("y: T")
                                     .Output("z: T")
                                     .Attr("T: {half, bfloat16, float, double, complex64, complex128}")
                                     .Shape(shapes::BroadcastBinary)));
  }
  RETURN_IF_ERROR(ops.Register(Op("Atan2")
                                   .Input("y: T")
                                   .Input("x: T")
                                   .Output("z: T")
                                   .Attr("T: {bfloat16, half, float, double}")
                                   .Shape(shapes::BroadcastBinary)));
  for (const char* name : {"Less", "LessEqual", "Greater", "GreaterEqual"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("x: T")
                                     .Input("y: T")
                                     .Output("z: bool")
                                     .Attr("T: realnumbertype")
                                     .Shape(shapes::BroadcastBinary)));
  }
  for (const char* name : {"LogicalAnd", "LogicalOr"}) {
    RETURN_IF_ERROR(ops.Register(
        Op(name).Input("x: bool").Input("y: bool").Output("z: bool").Commutative().Shape(shapes::BroadcastBinary)));
  }
  for (const char* name : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("x: T")
                                     .Input("y: T")
                                     .Output("z: T")
                                     .Attr("T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}")
                                     .Commutative()
                                     .Shape(shapes::BroadcastBinary)));
  }
  for (const char* name : {"LeftShift", "RightShift"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("x: T")
                                     .Input("y: T")
                                     .Output("z: T")
                                     .Attr("T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}")
                                     .Shape(shapes::BroadcastBinary)));
  }
  RETURN_IF_ERROR(ops.Register(Op("NextAfter")
                                   .Input("x1: T")
                                   .Input("x2: T")
                                   .Output("output: T")
                                   .Attr("T: {double, float} = DT_FLOAT")
                                   .Shape(shapes::BroadcastBinary)));
  RETURN_IF_ERROR(ops.Register(Op("Complex")
                                   .Input("real: T")
                                   .Input("imag: T")
                                   .Output("out: Tout")
                                   .Attr("T: {float, double} = DT_FLOAT")
                                   .Attr("Tout: {complex64, complex128} = DT_COMPLEX64")
                                   .Shape(shapes::BroadcastBinary)));
  for (const char* name : {"Equal", "NotEqual"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("x: T")
                                     .Input("y: T")
                                     .Output("z: bool")
                                     .Attr("T: type")
                                     .Attr("incompatible_shape_error: bool = true")
                                     .Commutative()
                                     .Shape(EqualityShape)));
  }
  RETURN_IF_ERROR(ops.Register(Op("ApproximateEqual")
                                   .Input("x: T")
                                   .Input("y: T")
                                   .Output("z: bool")
                                   .Attr("T: numbertype")
                                   .Attr("tolerance: float = 9.999999747378752e-06")
                                   .Commutative()
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
          .Shape(shapes::FromShapeAttr)));
  RETURN_IF_ERROR(ops.Register(Op("Select")
                                   .Input("condition: bool")
                                   .Input("t: T")
                                   .Input("e: T")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .Shape(SelectShape)));
  RETURN_IF_ERROR(ops.Register(Op("SelectV2")
                                   .Input("condition: bool")
                                   .Input("t: T")
                                   .Input("e: T")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .Shape(SelectV2Shape)));
  RETURN_IF_ERROR(ops.Register(Op("BroadcastTo")
                                   .Input("input: T")
                                   .Input("shape: Tidx")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .Attr("Tidx: {int32, int64} = DT_INT32")
                                   .Shape(BroadcastToShape)));
  RETURN_IF_ERROR(ops.Register(Op("BroadcastArgs")
                                   .Input("s0: T")
                                   .Input("s1: T")
                                   .Output("r0: T")
                                   .Attr("T: {int32, int64} = DT_INT32")
                                   .Shape(BroadcastArgsShape)));
  RETURN_IF_ERROR(ops.Register(Op("BroadcastGradientArgs")
                                   .Input("s0: T")
                                   .Input("s1: T")
                                   .Output("r0: T")
                                   .Output("r1: T")
                                   .Attr("T: {int32, int64} = DT_INT32")
                                   .Shape(BroadcastGradientArgsShape)));
  return absl::OkStatus();
}

}  // namespace weir
