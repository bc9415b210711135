
#include "graph/shape_inference.h"
#include "kernels/strings/family.h"

namespace weir {
namespace {

absl::Status RegexFullMatchShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.WithRank(c.input(1), 0).status());
  return shapes::Unchanged(c);
}

}  // namespace

absl::Status RegisterTextOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("StaticRegexFullMatch")
                                   .Input("input: string")
                                   .Output("output: bool")
                                   .Attr("pattern: string")
                                   .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("RegexFullMatch")
                                   .Input("input: string")
                                   .Input("pattern: string")
                                   .Output("output: bool")
                                   .Shape(RegexFullMatchShape)));
  RETURN_IF_ERROR(ops.Register(
      Op("ScalarSummary")
          .Input("tags: string")
          .Input("values: T")
          .Output("summary: string")
          .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}")
          .Shape(shapes::Scalar)));
  return ops.Register(Op("MergeSummary")
                          .Input("inputs: N * string")
                          .Output("summary: string")
                          .Attr("N: int >= 1")
                          .Shape(shapes::Scalar));
}

}  // namespace weir
