// The dealer of an epoch's examples, and iterators over what it deals.
#include "core/status.h"
#include "graph/shapes/shape_inference.h"
#include "kernels/data/op_lists.h"
#include "kernels/dealing/dealt_range.h"
#include "kernels/dealing/family.h"

namespace weir {
namespace {

absl::Status TakeShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.WithRank(c.input(2), 0).status());
  c.set_output(0, c.Vector(kDealtRangeSize));
  return absl::OkStatus();
}

absl::Status ClaimShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.Merge(c.input(2), c.Vector(kDealtRangeSize)).status());
  c.set_output(0, c.Scalar());
  return absl::OkStatus();
}

absl::Status AdvanceShape(InferenceContext& c) { return c.WithRank(c.input(2), 0).status(); }

absl::Status GetNextShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.Merge(c.input(1), c.Vector(kDealtRangeSize)).status());
  return dataset_ops::ElementShape(c);
}

absl::Status RegisterDealerOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("InputDealer")
                                   .Output("handle: resource")
                                   .Attr("chunk_sizes: list(int) >= 1")
                                   .Attr("batch_size: int >= 1")
                                   .Attr("drop_remainder: bool = false")
                                   .Attr("epochs: int = 1")
                                   .Attr("shuffle: bool = false")
                                   .Attr("seed: int = 0")
                                   .Attr("lease_ms: int >= 1 = 10000")
                                   .Attr("straggler_factor: float = 0.0")
                                   .Attr("container: string = ''")
                                   .Attr("shared_name: string = ''")
                                   .Stateful()
                                   .Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("InputDealerTake")
                                   .Input("handle: resource")
                                   .Input("progress: resource")
                                   .Input("worker: string")
                                   .Output("range: int64")
                                   .Stateful()
                                   .MayBlock()
                                   .Shape(TakeShape)));
  RETURN_IF_ERROR(ops.Register(Op("InputDealerClaim")
                                   .Input("handle: resource")
                                   .Input("progress: resource")
                                   .Input("range: int64")
                                   .Output("claim: int64")
                                   .Stateful()
                                   .Shape(ClaimShape)));
  return ops.Register(Op("InputDealerAdvance")
                          .Input("handle: resource")
                          .Input("progress: resource")
                          .Input("claim: int64")
                          .Stateful()
                          .WritesState()
                          .Shape(AdvanceShape));
}

}  // namespace

absl::Status RegisterDealingOps(OpRegistry& ops) {
  RETURN_IF_ERROR(RegisterDealerOps(ops));
  RETURN_IF_ERROR(ops.Register(Op("DealtIterator")
                                   .Output("handle: resource")
                                   .Attr(dataset_ops::kTypes)
                                   .Attr(dataset_ops::kShapes)
                                   .Attr("container: string = ''")
                                   .Attr("shared_name: string = ''")
                                   .Stateful()
                                   .Shape(shapes::Scalar)));
  return ops.Register(Op("DealtIteratorGetNext")
                          .Input("handle: resource")
                          .Input("range: int64")
                          .Input(dataset_ops::kOthers)
                          .Output("components: output_types")
                          .Attr("dataset_function: func")
                          .Attr(dataset_ops::kArguments)
                          .Attr(dataset_ops::kTypes)
                          .Attr(dataset_ops::kShapes)
                          .Stateful()
                          .MayBlock()
                          .Shape(GetNextShape));
}

}  // namespace weir
