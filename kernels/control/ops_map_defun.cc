// A function called for each row.
#include "graph/shapes/shape_inference.h"
#include "kernels/control/family.h"
#include "kernels/device/op_shapes.h"

namespace weir {
namespace {

using op_shapes::kUnknown;

// The rows of the first argument, then what a row has.
absl::Status MapDefunShape(InferenceContext& c) {
  std::vector<PartialTensorShape> shapes;
  RETURN_IF_ERROR(c.GetAttr("output_shapes", &shapes));
  if (static_cast<int>(shapes.size()) != c.num_outputs()) {
    return errors::InvalidArgument("`output_shapes` must be the same length as `output_types` (", shapes.size(),
                                   " vs. ", c.num_outputs(), ")");
  }
  DataTypeVector arguments;
  RETURN_IF_ERROR(c.GetAttr("Targuments", &arguments));
  int64_t rows = kUnknown;
  for (int i = 0; i < static_cast<int>(arguments.size()) && i < c.num_inputs(); ++i) {
    ASSIGN_OR_RETURN(PartialTensorShape input, c.WithRankAtLeast(c.input(i), 1));
    ASSIGN_OR_RETURN(rows, c.MergeDim(rows, c.Dim(input, 0)));
  }
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, c.Concatenate(c.Vector(rows), shapes[i]));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterMapDefunOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("MapDefun")
                                   .Input("arguments: Targuments")
                                   .Input("captured_inputs: Tcaptured")
                                   .Output("output: output_types")
                                   .Attr("Targuments: list(type) >= 1")
                                   .Attr("Tcaptured: list(type) >= 0 = []")
                                   .Attr("output_types: list(type) >= 1")
                                   .Attr("output_shapes: list(shape) >= 1")
                                   .Attr("f: func")
                                   .Attr("max_intra_op_parallelism: int = 1")
                                   .Shape(MapDefunShape)));
  return absl::OkStatus();
}

}  // namespace weir
