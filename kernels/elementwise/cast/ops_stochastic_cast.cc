// Numbers rounded to one of their two neighbours at random.
#include "graph/shapes/shape_inference.h"
#include "kernels/elementwise/family.h"

namespace weir {
namespace {

absl::Status StochasticCastShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialTensorShape key, c.WithRank(c.input(1), 1));
  RETURN_IF_ERROR(c.WithRank(c.input(2), 1).status());
  RETURN_IF_ERROR(c.WithRank(c.input(3), 0).status());
  RETURN_IF_ERROR(c.MergeDim(c.Dim(key, 0), 1).status());
  return shapes::Unchanged(c);
}

}  // namespace

absl::Status RegisterStochasticCastOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("StochasticCastToInt")
                                   .Input("input: Tin")
                                   .Input("key: uint64")
                                   .Input("counter: uint64")
                                   .Input("alg: int32")
                                   .Output("output: Tout")
                                   .Attr("Tin: {half, bfloat16, float, double}")
                                   .Attr("Tout: {int8, int16, int32}")
                                   .Shape(StochasticCastShape)));
  return absl::OkStatus();
}

}  // namespace weir
