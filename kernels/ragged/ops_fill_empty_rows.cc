// A default value for empty rows.
#include "kernels/ragged/family.h"
#include "kernels/sparse/sparse_shapes.h"

namespace weir {
namespace {

using op_shapes::kUnknown;
using sparse_shapes::FillEmptyRowsGradShape;
using sparse_shapes::WithRanks;

absl::Status RaggedFillEmptyRowsShape(InferenceContext& c) {
  RETURN_IF_ERROR(WithRanks(c, {1, 1, 0, 0}));
  ASSIGN_OR_RETURN(const int64_t count, c.MergeDim(c.Dim(c.input(0), 0), c.Dim(c.input(1), 0)));
  c.set_output(0, c.Vector(kUnknown));
  c.set_output(1, c.Vector(kUnknown));
  c.set_output(2, c.Vector(kUnknown));
  c.set_output(3, c.Vector(count));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterRaggedFillOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("RaggedFillEmptyRows")
                                   .Input("value_rowids: int64")
                                   .Input("values: T")
                                   .Input("nrows: int64")
                                   .Input("default_value: T")
                                   .Output("output_value_rowids: int64")
                                   .Output("output_values: T")
                                   .Output("empty_row_indicator: bool")
                                   .Output("reverse_index_map: int64")
                                   .Attr("T: type")
                                   .Shape(RaggedFillEmptyRowsShape)));
  RETURN_IF_ERROR(ops.Register(Op("RaggedFillEmptyRowsGrad")
                                   .Input("reverse_index_map: int64")
                                   .Input("grad_values: T")
                                   .Output("d_values: T")
                                   .Output("d_default_value: T")
                                   .Attr("T: type")
                                   .Shape(FillEmptyRowsGradShape)));
  return absl::OkStatus();
}

}  // namespace weir
