// Code points of strings, and conversions between encodings.
#include "graph/shapes/common_shapes.h"
#include "kernels/sparse/sparse_shapes.h"
#include "kernels/strings/family.h"

namespace weir {
namespace {

using op_shapes::kUnknown;
using sparse_shapes::WithRanks;

// Splits of a row for each string, then vectors.
absl::Status UnicodeDecodeShape(InferenceContext& c) {
  const int64_t strings = shapes::NumElements(c.input(0));
  c.set_output(0, c.Vector(strings == kUnknown ? kUnknown : strings + 1));
  for (int i = 1; i < c.num_outputs(); ++i) c.set_output(i, c.Vector(kUnknown));
  return absl::OkStatus();
}

absl::Status UnicodeEncodeShape(InferenceContext& c) {
  RETURN_IF_ERROR(WithRanks(c, {1, 1}));
  const int64_t splits = c.Dim(c.input(1), 0);
  c.set_output(0, c.Vector(splits > 0 ? splits - 1 : kUnknown));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterUnicodeOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("UnicodeDecode")
                                   .Input("input: string")
                                   .Output("row_splits: Tsplits")
                                   .Output("char_values: int32")
                                   .Attr("input_encoding: string")
                                   .Attr("errors: {'strict', 'replace', 'ignore'} = 'replace'")
                                   .Attr("replacement_char: int = 65533")
                                   .Attr("replace_control_characters: bool = false")
                                   .Attr("Tsplits: {int32, int64} = DT_INT64")
                                   .Shape(UnicodeDecodeShape)));
  RETURN_IF_ERROR(ops.Register(Op("UnicodeDecodeWithOffsets")
                                   .Input("input: string")
                                   .Output("row_splits: Tsplits")
                                   .Output("char_values: int32")
                                   .Output("char_to_byte_starts: int64")
                                   .Attr("input_encoding: string")
                                   .Attr("errors: {'strict', 'replace', 'ignore'} = 'replace'")
                                   .Attr("replacement_char: int = 65533")
                                   .Attr("replace_control_characters: bool = false")
                                   .Attr("Tsplits: {int32, int64} = DT_INT64")
                                   .Shape(UnicodeDecodeShape)));
  RETURN_IF_ERROR(ops.Register(Op("UnicodeEncode")
                                   .Input("input_values: int32")
                                   .Input("input_splits: Tsplits")
                                   .Output("output: string")
                                   .Attr("errors: {'ignore', 'replace', 'strict'} = 'replace'")
                                   .Attr("output_encoding: {'UTF-8', 'UTF-16-BE', 'UTF-32-BE'}")
                                   .Attr("replacement_char: int = 65533")
                                   .Attr("Tsplits: {int32, int64} = DT_INT64")
                                   .Shape(UnicodeEncodeShape)));
  RETURN_IF_ERROR(ops.Register(Op("UnicodeTranscode")
                                   .Input("input: string")
                                   .Output("output: string")
                                   .Attr("input_encoding: string")
                                   .Attr("output_encoding: {'UTF-8', 'UTF-16-BE', 'UTF-32-BE'}")
                                   .Attr("errors: {'strict', 'replace', 'ignore'} = 'replace'")
                                   .Attr("replacement_char: int = 65533")
                                   .Attr("replace_control_characters: bool = false")
                                   .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(
      ops.Register(Op("UnicodeScript").Input("input: int32").Output("output: int32").Shape(shapes::Unchanged)));
  return absl::OkStatus();
}

}  // namespace weir
