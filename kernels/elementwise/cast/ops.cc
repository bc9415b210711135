// Cast and Bitcast.
#include "core/status.h"
#include "kernels/device/op_shapes.h"
#include "kernels/elementwise/family.h"

namespace weir {
namespace {

using op_shapes::kUnknown;

absl::Status BitcastOutputShape(InferenceContext& c) {
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

}  // namespace

absl::Status RegisterCastOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("Cast")
                                   .Input("x: SrcT")
                                   .Output("y: DstT")
                                   .Attr("SrcT: type")
                                   .Attr("DstT: type")
                                   .Attr("Truncate: bool = false")
                                   .Elementwise()
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
          .Shape(BitcastOutputShape)));
  return absl::OkStatus();
}

}  // namespace weir
