// Strings element by element: joined, converted to and from numbers, measured, stripped, and as base64.
#include "core/status.h"
#include "graph/shapes/shape_inference.h"
#include "kernels/strings/family.h"

namespace weir {
namespace {

// Scalars go with anything.
absl::Status StringJoinShape(InferenceContext& c) {
  PartialTensorShape shape = c.Scalar();
  bool known = true, found = false;
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (c.input(i).dims() == 0) continue;
    known = known && !c.input(i).unknown_rank();
    if (c.input(i).unknown_rank()) continue;
    if (found) {
      ASSIGN_OR_RETURN(shape, shape.MergeWith(c.input(i)));
    } else {
      shape = c.input(i);
    }
    found = true;
  }
  if (known || found) c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterStringOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("StringJoin")
                                   .Input("inputs: N * string")
                                   .Output("output: string")
                                   .Attr("N: int >= 0")
                                   .Attr("separator: string = ''")
                                   .Shape(StringJoinShape)));
  RETURN_IF_ERROR(ops.Register(
      Op("AsString")
          .Input("input: T")
          .Output("output: string")
          .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, "
                "complex64, complex128, bool, variant, string}")
          .Attr("precision: int = -1")
          .Attr("scientific: bool = false")
          .Attr("shortest: bool = false")
          .Attr("width: int = -1")
          .Attr("fill: string = ''")
          .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("StringToNumber")
                                   .Input("string_tensor: string")
                                   .Output("output: out_type")
                                   .Attr("out_type: {float, double, int32, int64, uint32, uint64} = DT_FLOAT")
                                   .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("StringLength")
                                   .Input("input: string")
                                   .Output("output: int32")
                                   .Attr("unit: {'BYTE', 'UTF8_CHAR'} = 'BYTE'")
                                   .Shape(shapes::Unchanged)));
  for (const char* name : {"StringLower", "StringUpper"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("input: string")
                                     .Output("output: string")
                                     .Attr("encoding: string = ''")
                                     .Shape(shapes::Unchanged)));
  }
  RETURN_IF_ERROR(
      ops.Register(Op("StringStrip").Input("input: string").Output("output: string").Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("EncodeBase64")
                                   .Input("input: string")
                                   .Output("output: string")
                                   .Attr("pad: bool = false")
                                   .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(
      ops.Register(Op("DecodeBase64").Input("input: string").Output("output: string").Shape(shapes::Unchanged)));
  return absl::OkStatus();
}

}  // namespace weir
