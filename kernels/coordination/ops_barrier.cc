// Barriers.
#include "core/status.h"
#include "kernels/coordination/family.h"
#include "kernels/device/handle_ops.h"

namespace weir {
namespace {

absl::Status InsertShape(InferenceContext& c) {
  RETURN_IF_ERROR(CheckHandle(c));
  ASSIGN_OR_RETURN(PartialTensorShape keys, c.WithRank(c.input(1), 1));
  ASSIGN_OR_RETURN(PartialTensorShape values, c.WithRankAtLeast(c.input(2), 1));
  return c.MergeDim(c.Dim(keys, 0), c.Dim(values, 0)).status();
}

absl::Status TakeShape(InferenceContext& c) {
  RETURN_IF_ERROR(CheckHandle(c));
  return c.WithRank(c.input(1), 0).status();
}

}  // namespace

absl::Status RegisterBarrierOps(OpRegistry& ops) {
  const HandleKind reference{false};
  RETURN_IF_ERROR(ops.Register(reference.Maker("Barrier", "handle")
                                   .Attr("component_types: list(type) >= 1")
                                   .Attr("shapes: list(shape) >= 0 = []")
                                   .Attr("capacity: int = -1")
                                   .Attr("container: string = ''")
                                   .Attr("shared_name: string = ''")));
  RETURN_IF_ERROR(ops.Register(reference.User("BarrierInsertMany", "handle")
                                   .Input("keys: string")
                                   .Input("values: T")
                                   .Attr("T: type")
                                   .Attr("component_index: int")
                                   .MayBlock()
                                   .Shape(InsertShape)));
  RETURN_IF_ERROR(ops.Register(reference.User("BarrierTakeMany", "handle")
                                   .Input("num_elements: int32")
                                   .Output("indices: int64")
                                   .Output("keys: string")
                                   .Output("values: component_types")
                                   .Attr("component_types: list(type) >= 1")
                                   .Attr("allow_small_batch: bool = false")
                                   .Attr("wait_for_incomplete: bool = false")
                                   .Attr("timeout_ms: int = -1")
                                   .MayBlock()
                                   .Shape(TakeShape)));
  RETURN_IF_ERROR(ops.Register(reference.User("BarrierClose", "handle")
                                   .Attr("cancel_pending_enqueues: bool = false")
                                   .MayBlock()
                                   .Shape(shapes::NoOutputs)));
  for (const char* name : {"BarrierReadySize", "BarrierIncompleteSize"}) {
    RETURN_IF_ERROR(
        ops.Register(reference.User(name, "handle").Output("size: int32").MayBlock().Shape(shapes::Scalar)));
  }
  return absl::OkStatus();
}

}  // namespace weir
